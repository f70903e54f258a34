import { eventually, startFakeUpstream } from '@sluice/testing';
import { expect, it } from 'vitest';
import { descendantsOf, stillRunning } from './process-tree.ts';
import { promptOf } from './scripted-upstream.ts';
import { startService } from './service.ts';

const recovery = { lockMs: 3_000, stalledMs: 500 };

interface Model {
  /** The first call of a prompt that is answered, with the prompt itself. */
  answersFrom: (prompt: string) => number;
  /** What an answer waits for. */
  ready?: Promise<void>;
}

async function startWithModel({ answersFrom, ready }: Model) {
  const upstream = await startFakeUpstream();
  const service = await startService({
    apis: 1,
    workers: 1,
    settings: {
      providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: upstream.baseUrl }],
      models: [{ id: 'm', routes: [{ provider: 'upstream' }] }],
      recovery,
    },
  });
  const calls = new Map<string, number>();
  upstream.onChatCompletions(async ({ request, stream, hang }) => {
    const prompt = promptOf(request);
    const call = (calls.get(prompt) ?? 0) + 1;
    calls.set(prompt, call);
    if (call < answersFrom(prompt)) return hang();
    await ready;
    const answer = stream();
    await answer.send({ choices: [{ index: 0, delta: { content: prompt }, finish_reason: 'stop' }] });
    answer.done();
  });
  const { create } = service.caller;
  const ask = (input: string) => create({ model: 'm', input });
  const stop = async () => {
    await service.stop();
    await upstream.close();
  };
  return { service, calls, ask, stop };
}

// Each has a service of its own, and spends its time in waits for locks to lapse.
it.concurrent('a response that kills its process runs twice, and costs its neighbours nothing but time', async () => {
  const { service, calls, ask, stop } = await startWithModel({
    answersFrom: (prompt) => (prompt === 'poison' ? 3 : 2),
  });
  try {
    const prompts = Array.from({ length: 7 }, (_, at) => `bystander ${at}`);
    const pending = prompts.map((prompt) => ask(prompt));
    const poison = ask('poison');
    await eventually(() => calls.size === prompts.length + 1);
    await service.workers[0]?.kill();
    const survivor = await service.addWorker();

    const answers = await Promise.all(pending);
    expect(answers.map(({ body }) => [body.status, body.output_text])).toEqual(
      prompts.map((prompt) => ['completed', prompt]),
    );
    await eventually(() => calls.get('poison') === 2, { timeoutMs: 30_000 });
    // All others are done, so whatever still runs beside the worker is the poison.
    const alone = descendantsOf(survivor.pid);
    expect(alone).not.toEqual([]);
    for (const { pid } of alone) process.kill(pid, 'SIGKILL');

    const { body } = await poison;
    expect(body.error?.code).toBe('server_error');
    expect(calls.get('poison')).toBe(2);
    expect(prompts.map((prompt) => calls.get(prompt))).toEqual(prompts.map(() => 2));
    // The worker itself never noticed, and still answers.
    const { body: after } = await ask(prompts[0] ?? '');
    expect(after.status).toBe('completed');
  } finally {
    await stop();
  }
});

it.concurrent('what ran in a worker that died runs again at once, and whoever dies beside others runs once more alone', async () => {
  const all = Promise.withResolvers<void>();
  const { service, calls, ask, stop } = await startWithModel({ answersFrom: () => 2, ready: all.promise });
  try {
    const prompts = Array.from({ length: 24 }, (_, at) => `suspect ${at}`);
    const pending = prompts.map((prompt) => ask(prompt));
    await eventually(() => calls.size === prompts.length);
    await service.workers[0]?.kill();
    const survivor = await service.addWorker();
    // None is answered before every one of them runs for the second time.
    await eventually(() => prompts.every((prompt) => calls.get(prompt) === 2), { timeoutMs: 30_000 });

    const [first] = descendantsOf(survivor.pid);
    process.kill(first?.pid ?? expect.unreachable(), 'SIGKILL');
    all.resolve();
    const answers = await Promise.all(pending);
    expect(answers.map(({ body }) => [body.status, body.output_text])).toEqual(
      prompts.map((prompt) => ['completed', prompt]),
    );
    const third = prompts.filter((prompt) => calls.get(prompt) === 3);
    expect(third).toHaveLength(prompts.length / 4);
  } finally {
    await stop();
  }
});

it.concurrent('a response that runs apart survives the death of its worker, too', async () => {
  const { service, calls, ask, stop } = await startWithModel({ answersFrom: () => 3 });
  try {
    const prompts = ['one', 'two', 'three'];
    const pending = prompts.map((prompt) => ask(prompt));
    for (const call of [1, 2]) {
      await eventually(() => prompts.every((prompt) => calls.get(prompt) === call), { timeoutMs: 30_000 });
      const worker = service.workers.at(-1) ?? expect.unreachable();
      const apart = descendantsOf(worker.pid);
      await worker.kill();
      await eventually(() => stillRunning(apart).length === 0);
      await service.addWorker();
    }
    const answers = await Promise.all(pending);
    expect(answers.map(({ body }) => body.status)).toEqual(prompts.map(() => 'completed'));
  } finally {
    await stop();
  }
});
