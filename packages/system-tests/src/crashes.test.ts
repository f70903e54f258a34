import { eventually } from '@sluice/testing';
import { describe, it } from 'vitest';
import { callerOf } from './caller.ts';
import { startService } from './service.ts';
import { runningAttempts } from './worker-metrics.ts';

const settings = { recovery: { lockMs: 3_000, stalledMs: 500 } };

// What else becomes of responses when a process dies is in `faults/matrix.ts`. These mostly wait for locks to expire, so they run concurrently.
describe.concurrent('a worker that is lost', () => {
  it('costs responses without a token nothing but time', async ({ expect }) => {
    await using service = await startService({ apis: 2, workers: 3, settings });
    const [first, second] = service.apiUrls.map((url) => callerOf(url, service.key));
    if (!first || !second) return expect.unreachable();
    const pending = Array.from({ length: 12 }, (_, at) => {
      const input = `Talk about topic-${at}. [[sluice: first_token_ms=2000]]`;
      return at % 2 === 0
        ? first.stream({ input }).then(({ final }) => final)
        : second.create({ input }).then(({ body }) => body);
    });
    const counts = () => Promise.all(service.workers.map(({ healthUrl }) => runningAttempts(healthUrl)));
    const running = await eventually(async () => {
      const each = await counts();
      return each.reduce((sum, count) => sum + count) === 12 && each;
    });
    const victim = service.workers[running.indexOf(Math.max(...running))] ?? expect.unreachable();

    await victim.kill();

    const responses = await Promise.all(pending);
    for (const [at, { status, output_text: text }] of responses.entries()) {
      expect(status).toBe('completed');
      expect(text).toContain(`topic-${at}`);
    }
  });

  it('cannot write behind its successor when it was only frozen', async ({ expect }) => {
    await using service = await startService({ settings });
    const caller = callerOf(service.apiUrls[0] ?? '', service.key);
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
});
