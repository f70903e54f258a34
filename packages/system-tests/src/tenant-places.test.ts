import { eventually, latch, startFakeUpstream } from '@sluice/testing';
import { it } from 'vitest';
import { callerOf } from './caller.ts';
import { startService } from './service.ts';
import { storeContents } from './store-contents.ts';

const crowd = { name: 'crowd', key: 'sk-crowd-0123456789abcdef', limits: { concurrent: 4 } };
const count = 20;

it('gives the places of a tenant to its next responses when the worker that held them is killed', async ({
  expect,
}) => {
  const upstream = await startFakeUpstream();
  await using service = await startService({
    workers: 1,
    settings: {
      recovery: { lockMs: 3_000, stalledMs: 500 },
      keys: [crowd],
      providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: upstream.baseUrl }],
      models: ['one', 'two'].map((id) => ({ id, routes: [{ provider: 'upstream' }] })),
    },
  });
  const isDead = latch<true>();
  let open = 0;
  let mostOpen = 0;
  upstream.onChatCompletions(async ({ stream, request }) => {
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    void request.ended.then(() => (open -= 1));
    const answer = stream();
    await isDead.wait();
    await answer.send({ choices: [{ index: 0, delta: { content: 'Done.' }, finish_reason: 'stop' }] });
    answer.done();
  });
  try {
    const caller = callerOf(service.apiUrls[0] ?? '', crowd.key);
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const model = at % 2 === 0 ? 'one' : 'two';
      const { body } = await caller.create({ model, input: `Talk about topic-${at}.`, background: true });
      ids.push(body.id);
    }
    await upstream.request(crowd.limits.concurrent - 1);
    const use = async () => {
      const answer = await fetch(`${service.adminUrls[0]}/admin/v1/tenants`);
      const { data } = (await answer.json()) as { data: { use: Record<string, number> }[] };
      return data[0]?.use;
    };
    expect(await use()).toMatchObject({ running: 4, waiting: count - 4 });

    await service.addWorker();
    await service.workers[0]?.kill();
    isDead.open(true);

    for (const id of ids) {
      const ended = await eventually(
        async () => {
          const { body } = await caller.get(id);
          return body.status !== 'queued' && body.status !== 'in_progress' && body;
        },
        { timeoutMs: 40_000 },
      );
      expect(ended).toMatchObject({ status: 'completed', output_text: 'Done.' });
    }
    expect(mostOpen).toBe(crowd.limits.concurrent);
    await eventually(async () => (await use())?.['running'] === 0);
    expect(await use()).toMatchObject({ running: 0, waiting: 0, in_line: 0 });
    const left = [...(await storeContents(service.redis)).keys()].filter((key) =>
      /:(running|line):/.test(key),
    );
    expect(left).toEqual([]);
  } finally {
    isDead.open(true);
    await upstream.close();
  }
});
