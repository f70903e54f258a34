import { eventually } from '@sluice/testing';
import { expect, it } from 'vitest';
import { inspectable, liveHeapMiB } from './faults/live-heap.ts';
import { testService } from './service.ts';

/** Nearly the most that the contract allows: each is repeated in the answer. */
const instructions = 'Answer in rhymes. '.repeat(500_000);
const callers = 12;

const service = testService(() => ({ workers: 0, env: inspectable }));

const waiting = async () => {
  const answer = await fetch(`${service.adminUrls[0]}/scale`);
  return ((await answer.json()) as { waiting: number }).waiting;
};

it('callers that wait hold nothing of their long instructions, and get them with the answer', async () => {
  const [api = expect.unreachable()] = service.apis;
  const { create } = service.caller;
  const before = await liveHeapMiB(api);
  const answers: ReturnType<typeof create>[] = [];
  // One after the other: so many bodies at once would be too much for one tenant.
  for (let at = 1; at <= callers; at += 1) {
    answers.push(create({ input: 'Hi', instructions, store: at % 2 === 0 }));
    await eventually(async () => (await waiting()) === at);
  }
  const heldMiB = (await liveHeapMiB(api)) - before;
  expect(heldMiB).toBeLessThan((callers * instructions.length) / (1024 * 1024) / 4);
  await service.addWorker();
  for (const { status, body } of await Promise.all(answers)) {
    expect(status).toBe(200);
    expect(body.status).toBe('completed');
    expect(JSON.stringify(body)).toContain(instructions);
  }
});
