import { eventually, hasServer, type LocalCluster, startLocalCluster } from '@sluice/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startService } from './service.ts';

let cluster: LocalCluster | undefined;
let service: Service | undefined;

beforeAll(async () => {
  if (!hasServer) return;
  cluster = await startLocalCluster({ withReplica: true });
  const [seed] = cluster.nodes;
  service = await startService({
    redisUrl: `redis://127.0.0.1:${seed?.port}`,
    redisUrlOfProcesses: `redis://127.0.0.1:${seed?.port}?cluster`,
    apis: 2,
    workers: 2,
    settings: {
      recovery: { lockMs: 3_000, stalledMs: 500 },
      files: { enabled: true },
      usage: { enabled: true },
      providers: [{ id: 'simulator', type: 'simulator', firstTokenMs: 10, tokensPerSecond: 100 }],
      models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await cluster?.stop();
});

const running = () => service as Service; // skipped without one
const clientOf = (api: number) =>
  new OpenAI({ apiKey: running().key, baseURL: `${running().apiUrls[api]}/v1`, maxRetries: 10 });

describe.skipIf(!hasServer)('a service over a cluster of three primaries, where there is a server', () => {
  it('answers whole, as a stream that another api goes on with, and in the background', async () => {
    const whole = await clientOf(0).responses.create({ model: 'simulator', input: 'Hi' });
    expect(whole.status).toBe('completed');
    const next = await clientOf(1).responses.create({
      model: 'simulator',
      input: 'And now?',
      previous_response_id: whole.id,
    });
    expect(next.previous_response_id).toBe(whole.id);
    const input = 'Hi [[sluice: tokens=40]]';
    const stream = await clientOf(0).responses.create({
      model: 'simulator',
      input,
      stream: true,
      background: true,
    });
    const seen: number[] = [];
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      seen.push(event.sequence_number);
      if (seen.length === 10) break;
    }
    const rest = await clientOf(1).responses.retrieve(id, { stream: true, starting_after: seen.at(-1) ?? 0 });
    for await (const event of rest) seen.push(event.sequence_number);
    expect(seen).toEqual(seen.map((_, at) => at));
    const { id: cancelled } = await clientOf(0).responses.create({
      model: 'simulator',
      input: 'Hi [[sluice: hang]]',
      background: true,
    });
    expect((await clientOf(1).responses.cancel(cancelled)).status).toBe('cancelled');
  });

  it('sends no message over the bus of the cluster', async () => {
    const { nodes, ask } = cluster as LocalCluster; // as above
    const sent = async () => {
      const infos = await Promise.all(nodes.map(({ port }) => ask(port, 'CLUSTER', 'INFO')));
      return infos.map((info) => Number(/messages_publish_sent:(\d+)/.exec(String(info))?.[1] ?? 0));
    };
    const before = await sent();
    for (let at = 0; at < 5; at += 1)
      await clientOf(at % 2).responses.create({ model: 'simulator', input: 'Hi' });
    expect(await sent()).toEqual(before);
  });

  it('loses nothing when a replica takes over', async () => {
    const { nodes, ask } = cluster as LocalCluster;
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, at) =>
        clientOf(at % 2).responses.create({
          model: 'simulator',
          input: `Say ${at}. [[sluice: tokens=30]]`,
          background: true,
        }),
      ),
    );
    await ask(nodes[3]?.port ?? 0, 'CLUSTER', 'FAILOVER');
    const ended = await Promise.all(
      made.map(({ id }, at) =>
        eventually(async () => {
          const read = await clientOf(at % 2).responses.retrieve(id);
          return read.status !== 'queued' && read.status !== 'in_progress' && read.status;
        }),
      ),
    );
    expect(ended).toEqual(made.map(() => 'completed'));
    const { status } = await clientOf(1).responses.create({ model: 'simulator', input: 'Hi' });
    expect(status).toBe('completed');
  });
});
