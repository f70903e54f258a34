import { loadSettings } from '@sluice/config';
import { createLogger, Telemetry } from '@sluice/runtime';
import { expect, it } from 'vitest';
import { idleProvider } from '../test/idle-upstreams.ts';
import { AttemptRunner } from './attempt-runner.ts';

it('looks at each model a few times at a change, however many routes there are', () => {
  const count = 200;
  let looks = 0;
  const text = [
    'providers: [{ id: up, type: openai-chat, baseUrl: "http://up" }]',
    'models:',
    ...Array.from({ length: count }, (_, at) => `  - { id: m${at}, routes: [{ provider: up }] }`),
  ].join('\n');
  const settings = loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => text });
  const models = settings.models.map(({ routes, ...model }) => ({
    ...model,
    get routes() {
      looks += 1;
      return routes;
    },
  }));
  const clients = { commands: {} };
  const runner = new AttemptRunner({
    settings: { ...settings, models, redisUrl: 'redis://nowhere' },
    wired: {
      ...{ clock: {}, store: {}, cells: { first: { clients, keyPrefix: 'p:' }, all: [] } },
      telemetry: new Telemetry((error) => {
        throw error;
      }),
    } as never, // what is read before the start
    workerId: 'w',
    providers: new Map([['up', idleProvider()]]),
    logger: createLogger({ name: 'test', level: 'silent' }),
    isolate: undefined,
    memoryShare: 1,
    holdQueue: () => undefined,
  });
  looks = 0;
  runner.take({ models, served: models, servedProviders: settings.providers } as never); // what is read of them
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThanOrEqual(5 * count);
});
