import { eventually, startFakeUpstream, within } from '@sluice/testing';
import { describe, it } from 'vitest';
import { callerOf } from './caller.ts';
import type { StreamEvent } from './read-stream.ts';
import { startService } from './service.ts';
import { runningAttempts } from './worker-metrics.ts';

/** How much time a crash of a worker may cost a response with the default recovery settings. */
const recoveredWithinMs = 20_000;

// These tests mostly wait for locks to expire, so they run concurrently.
describe.concurrent('a process that is killed', () => {
  it('costs responses without a token nothing but time when it is a worker', async ({ expect }) => {
    await using service = await startService({ apis: 2, workers: 3 });
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

    const killedAt = performance.now();
    await victim.kill();

    const responses = await Promise.all(pending);
    expect(performance.now() - killedAt).toBeLessThan(recoveredWithinMs);
    for (const [at, { status, output_text: text }] of responses.entries()) {
      expect(status).toBe('completed');
      expect(text).toContain(`topic-${at}`);
    }
  });

  it('ends visible streams with an error, and never mixes two answers, when it is a worker', async ({
    expect,
  }) => {
    await using service = await startService({ apis: 1, workers: 1 });
    const caller = callerOf(service.apiUrls[0] ?? '', service.key);
    const seen: StreamEvent[][] = [];
    const pending = Array.from({ length: 6 }, (_, at) => {
      const events: StreamEvent[] = [];
      seen.push(events);
      return caller.stream(
        { input: `Talk about topic-${at}. [[sluice: tokens=2000 tokens_per_second=20]]` },
        { onEvent: (event) => events.push(event) },
      );
    });
    await eventually(() =>
      seen.every((events) => events.some(({ type }) => type === 'response.output_text.delta')),
    );

    const [victim = expect.unreachable()] = service.workers;
    await service.addWorker();
    const killedAt = performance.now();
    await victim.kill();

    const streams = await Promise.all(pending);
    expect(performance.now() - killedAt).toBeLessThan(recoveredWithinMs);
    for (const { events, final, text } of streams) {
      expect(events.slice(-2).map(({ type }) => type)).toEqual(['error', 'response.failed']);
      expect(final).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
      expect(final.output).toMatchObject([{ status: 'incomplete', content: [{ text }] }]);
      expect(text).not.toBe('');
      const read = await caller.get(final.id);
      expect(read.body).toEqual(final);
    }
  });

  it('cannot write behind its successor when it was only frozen', async ({ expect }) => {
    await using service = await startService({ apis: 1, workers: 1 });
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

  it('stops its upstream calls within 10 s when it is an api', async ({ expect }) => {
    const upstream = await startFakeUpstream();
    await using service = await startService({
      apis: 2,
      workers: 1,
      settings: {
        providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: upstream.baseUrl }],
        models: [{ id: 'held', routes: [{ provider: 'upstream' }] }],
      },
    });
    try {
      upstream.onChatCompletions(async ({ stream, hang }) => {
        const answer = stream();
        await answer.send({ choices: [{ index: 0, delta: { content: 'Half an ' } }] });
        await hang();
      });
      const [victim, survivor] = service.apis;
      if (!victim || !survivor) return expect.unreachable();
      const caller = callerOf(victim.url, service.key);
      const ids = new Set<string>();
      const lost = Array.from({ length: 6 }, (_, at) => {
        const body = { model: 'held', input: `Talk about topic-${at}.` };
        const call =
          at % 2 === 0
            ? caller.stream(body, { onEvent: ({ response }) => response && ids.add(response.id) })
            : caller.create(body);
        return call.then(
          () => 'answered',
          () => 'lost',
        );
      });
      await upstream.request(5);
      await eventually(() => ids.size === 3);

      const killedAt = performance.now();
      await victim.kill();

      await expect(Promise.all(lost)).resolves.toEqual(Array.from({ length: 6 }, () => 'lost'));
      const endings = await within(Promise.all(upstream.requests.map(({ ended }) => ended)));
      expect(performance.now() - killedAt).toBeLessThan(10_000);
      expect(endings).toEqual(Array.from({ length: 6 }, () => 'aborted'));
      const reader = callerOf(survivor.url, service.key);
      for (const id of ids) {
        await eventually(async () => (await reader.get(id)).body.status === 'cancelled');
      }
    } finally {
      await upstream.close();
    }
  });
});
