import { createLogger } from '@sluice/runtime';
import { eventually } from '@sluice/testing';
import { expect, it } from 'vitest';
import { JoinedPauses } from './joined-pauses.ts';

it('pauses in a cell what is paused in the first one, once both are there, and nothing else', async () => {
  const paused = { first: new Set(['q']), own: new Set(['old']) };
  let isAway = true;
  let asked = 0;
  const pauses = new JoinedPauses({
    first: { pausedNames: () => Promise.resolve([...paused.first]) },
    own: {
      pause: async (name) => {
        asked += 1;
        if (isAway) throw new Error('Connection is closed.');
        paused.own.add(name);
      },
    },
    logger: createLogger({ name: 'api', level: 'silent' }),
  });
  pauses.start();
  await eventually(() => asked > 0);
  isAway = false;
  await eventually(() => paused.own.has('q'));
  expect([...paused.first]).toEqual(['q']);
  pauses.stop();
});
