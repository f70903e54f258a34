import { eventually, type LocalCluster, serverThatMovesSlots, startLocalCluster } from '@sluice/testing';
import OpenAI from 'openai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Service, startService } from './service.ts';

const program = serverThatMovesSlots();
const model = 'simulator';

/** The primary that has the keys of a slot, and another one. */
async function placeOf({ nodes, ask }: LocalCluster, slot: string): Promise<{ from: number; to: number }> {
  const ports = nodes.map(({ port }) => port);
  const counts = await Promise.all(ports.map((port) => ask(port, 'CLUSTER', 'COUNTKEYSINSLOT', slot)));
  const from = ports.find((_port, at) => Number(counts[at]) > 0);
  const to = ports.find((port) => port !== from);
  if (from === undefined || to === undefined) throw new Error(`nobody has keys of the slot ${slot}`);
  return { from, to };
}

async function moveSlot(cluster: LocalCluster, slot: string): Promise<void> {
  const { from, to } = await placeOf(cluster, slot);
  const node = String(await cluster.ask(to, 'CLUSTER', 'MYID'));
  await cluster.ask(from, 'CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', slot, slot, 'NODE', node);
  await eventually(async () => Number(await cluster.ask(from, 'CLUSTER', 'COUNTKEYSINSLOT', slot)) === 0);
  expect(await placeOf(cluster, slot)).toMatchObject({ from: to });
}

/** Callers who ask for whole responses and streams in turns, of half a second each. A client asks again when it is told to. */
function startLoad(service: Service): { end: () => Promise<string[]> } {
  const answers = new Set<string>();
  let isOver = false;
  const ask = async (at: number) => {
    const apiKey = service.key;
    const client = new OpenAI({ apiKey, baseURL: `${service.apiUrls[at % 2]}/v1`, maxRetries: 10 });
    for (let count = at; !isOver; count += 1) {
      const input = `Request ${count}. [[sluice: tokens=20 tokens_per_second=40]]`;
      if (count % 4 < 2) {
        answers.add(`whole ${(await client.responses.create({ model, input })).status}`);
        continue;
      }
      const seen: number[] = [];
      let status: string | undefined;
      for await (const event of await client.responses.create({ model, input, stream: true })) {
        seen.push(event.sequence_number);
        if (event.type === 'response.completed') ({ status } = event.response);
      }
      answers.add(`stream ${status}${seen.every((each, nth) => each === nth) ? '' : ' with gaps'}`);
    }
  };
  const clients = Array.from({ length: 12 }, async (_, at) =>
    ask(at).catch((error: unknown) => answers.add(String(error))),
  );
  return {
    async end() {
      isOver = true;
      await Promise.all(clients);
      return [...answers].toSorted();
    },
  };
}

describe.skipIf(program === undefined)('the slot of a cell, where there is a Valkey 9', () => {
  it('moves to another primary and back under load, and no answer is lost', async () => {
    const cluster = await startLocalCluster({ program });
    onTestFinished(() => cluster.stop());
    const address = `redis://127.0.0.1:${cluster.nodes[0]?.port}`;
    await using service = await startService({
      redisUrl: address,
      redisUrlOfProcesses: `${address}?cluster&cells=3`,
      apis: 2,
      workers: 2,
      settings: { recovery: { lockMs: 3_000, stalledMs: 500 } },
    });
    const { caller } = service;
    const { id } = (await caller.create({ input: 'Hi' })).body;
    const [seed] = cluster.nodes;
    const slot = String(
      await cluster.ask(seed?.port ?? 0, 'CLUSTER', 'KEYSLOT', `{${id[id.indexOf('_') + 1]}}`),
    );
    const load = startLoad(service);
    let answers: string[] = [];
    try {
      for (let time = 0; time < 4; time += 1) {
        await moveSlot(cluster, slot);
        const next = { input: 'And now?', previous_response_id: id };
        await eventually(async () => (await caller.create(next)).status === 200);
      }
    } finally {
      answers = await load.end();
    }
    expect(answers).toEqual(['stream completed', 'whole completed']);
  });
});
