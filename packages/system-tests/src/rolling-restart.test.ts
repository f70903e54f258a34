import { eventually, within } from '@sluice/testing';
import { expect, it } from 'vitest';
import { startBalancedLoad } from './balanced-load.ts';
import { startService } from './service.ts';

it('restarts every process under load without a failed request or a cut stream', async () => {
  await using service = await startService({ apis: 2, workers: 2 });
  const load = startBalancedLoad(service);
  let answers: string[] = [];
  try {
    for (const leaving of [...service.apis]) {
      leaving.signal('SIGTERM');
      const [exit, added] = await Promise.all([
        within(leaving.exited, { timeoutMs: 30_000 }),
        service.addApi(),
      ]);
      expect(exit).toEqual({ code: 0, signal: null });
      await eventually(() => load.reaches(added.url));
    }
    for (const leaving of [...service.workers]) {
      leaving.signal('SIGTERM');
      const [exit] = await Promise.all([within(leaving.exited, { timeoutMs: 30_000 }), service.addWorker()]);
      expect(exit).toEqual({ code: 0, signal: null });
    }
  } finally {
    answers = await load.end();
  }
  expect(answers).toEqual(['stream completed', 'whole 200']);
});
