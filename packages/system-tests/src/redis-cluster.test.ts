import { forAllTests, eventually, hasServer, startLocalCluster } from '@sluice/testing';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';

/** Each of them has another one of three cells. */
const allTenants = ['tenant-0', 'tenant-1', 'tenant-7'].map((name) => ({
  name,
  key: `sk-of-${name}-0123456789`,
}));
const model = 'simulator';

describe.skipIf(!hasServer).each([1, 3])(
  'a service over a cluster of three primaries with cells=%i, where there is a server',
  (cells) => {
    const tenants = allTenants.slice(0, cells);

    const cluster = forAllTests(() => startLocalCluster({ withReplica: true }));
    const address = () => `redis://127.0.0.1:${cluster.nodes[0]?.port}`;
    const service = testService(() => ({
      redisUrl: address(),
      redisUrlOfProcesses: `${address()}?cluster&cells=${cells}`,
      apis: 2,
      workers: 2,
      settings: {
        keys: tenants,
        recovery: { lockMs: 3_000, stalledMs: 500 },
        files: { enabled: true },
        usage: { enabled: true },
        providers: [{ id: 'simulator', type: 'simulator', firstTokenMs: 10, tokensPerSecond: 100 }],
        models: [{ id: model, routes: [{ provider: 'simulator' }] }],
      },
    }));

    const clientOf = (tenant: number, api: number) =>
      new OpenAI({
        apiKey: tenants[tenant % tenants.length]?.key ?? '',
        baseURL: `${service.apiUrls[api % 2]}/v1`,
        maxRetries: 10,
      });

    it('says that it is ready', async () => {
      const urls = [...service.apiUrls, ...service.workers.map(({ healthUrl }) => healthUrl)];
      for (const url of urls) await eventually(async () => (await fetch(`${url}/readyz`)).status === 200);
    });

    it('has the keys of its cells at as many primaries', async () => {
      const made = await Promise.all(
        tenants.map((_tenant, at) => clientOf(at, at).responses.create({ model, input: 'Hi' })),
      );
      const used = new Set(made.map(({ id }) => id[id.indexOf('_') + 1]));
      expect(used.size).toBe(cells);
      const primaries = await Promise.all(
        cluster.nodes.slice(0, 3).map(({ port }) => cluster.ask(port, 'DBSIZE')),
      );
      expect(primaries.filter((keys) => Number(keys) > 0)).toHaveLength(cells);
    });

    it.each([...tenants.keys()])(
      'answers tenant %i whole, as a stream that another api goes on with, and in the background',
      async (tenant) => {
        const [here, there] = [clientOf(tenant, 0), clientOf(tenant, 1)];
        const whole = await here.responses.create({ model, input: 'Hi' });
        expect(whole.status).toBe('completed');
        const next = await there.responses.create({
          model,
          input: 'And now?',
          previous_response_id: whole.id,
        });
        expect(next.previous_response_id).toBe(whole.id);
        const input = 'Hi [[sluice: tokens=40]]';
        const stream = await here.responses.create({
          model,
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
        const rest = await there.responses.retrieve(id, { stream: true, starting_after: seen.at(-1) ?? 0 });
        for await (const event of rest) seen.push(event.sequence_number);
        expect(seen).toEqual(seen.map((_, at) => at));
        const { id: cancelled } = await here.responses.create({
          model,
          input: 'Hi [[sluice: hang]]',
          background: true,
        });
        expect((await there.responses.cancel(cancelled)).status).toBe('cancelled');
      },
    );

    it('sends no message over the bus of the cluster', async () => {
      const { nodes, ask } = cluster;
      const sent = async () => {
        const infos = await Promise.all(nodes.map(({ port }) => ask(port, 'CLUSTER', 'INFO')));
        return infos.map((info) => Number(/messages_publish_sent:(\d+)/.exec(String(info))?.[1] ?? 0));
      };
      const before = await sent();
      for (const at of tenants.keys()) await clientOf(at, at).responses.create({ model, input: 'Hi' });
      expect(await sent()).toEqual(before);
    });

    it('asks for no response of a cell that it has not, whoever names one', async () => {
      const { nodes, ask } = cluster;
      const connected = async () =>
        Promise.all(
          nodes.map(async ({ port }) =>
            Number(/total_connections_received:(\d+)/.exec(String(await ask(port, 'INFO', 'stats')))?.[1]),
          ),
        );
      await connected(); // It makes a connection itself.
      const before = await connected();
      for (const cell of ['Z', 'q', '9']) {
        const id = `create-response_${cell}${'a'.repeat(31)}`;
        await expect(clientOf(0, 0).responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
      }
      const made = (await connected()).map((count, at) => count - (before[at] ?? 0));
      // A node that has none of these keys would have ended the connections of the api, for all tenants.
      expect(made).toEqual(nodes.map(() => 1));
    });

    it('loses nothing when a replica takes over', async () => {
      const { nodes, ask } = cluster;
      const made = await Promise.all(
        Array.from({ length: 30 }, (_, at) =>
          clientOf(at, at).responses.create({
            model,
            input: `Say ${at}. [[sluice: tokens=30]]`,
            background: true,
          }),
        ),
      );
      await ask(nodes[3]?.port ?? 0, 'CLUSTER', 'FAILOVER');
      const ended = await Promise.all(
        made.map(({ id }, at) =>
          eventually(async () => {
            const read = await clientOf(at, at).responses.retrieve(id);
            return read.status !== 'queued' && read.status !== 'in_progress' && read.status;
          }),
        ),
      );
      expect(ended).toEqual(made.map(() => 'completed'));
      const { status } = await clientOf(0, 1).responses.create({ model, input: 'Hi' });
      expect(status).toBe('completed');
    });
  },
);
