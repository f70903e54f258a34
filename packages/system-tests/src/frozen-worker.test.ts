import { eventually } from '@sluice/testing';
import { expect, it } from 'vitest';
import { startService } from './service.ts';
import { runningAttempts } from './worker-metrics.ts';

const settings = { recovery: { lockMs: 3_000, stalledMs: 500 } };

// `faults/matrix.ts` says what becomes of responses when a process dies.
it('a worker that was only frozen cannot write behind its successor', async () => {
  await using service = await startService({ settings });
  const { caller } = service;
  const [zombie = expect.unreachable()] = service.workers;
  const pending = caller.stream({ input: 'Talk. [[sluice: first_token_ms=3000 tokens=5]]' });
  await eventually(async () => (await runningAttempts(zombie.healthUrl)) === 1);

  zombie.signal('SIGSTOP');
  await service.addWorker();
  const { final } = await pending;
  expect(final.status).toBe('completed');

  zombie.signal('SIGCONT');
  await eventually(async () => (await runningAttempts(zombie.healthUrl)) === 0);
  const read = await caller.get(final.id);
  expect(read.body).toEqual(final);
});
