import {
  eventually,
  freePort,
  hasServer,
  type LocalCluster,
  type LocalSentinel,
  startLocalCluster,
  startLocalSentinel,
} from '@sluice/testing';
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  closeRedis,
  commandClient,
  createLogger,
  queueClient,
  subscriberClient,
  waitForRedis,
} from '../src/index.ts';

function open(role: typeof commandClient, url: string): { client: Redis; lines: string[] } {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  const client = role(url, { logger: createLogger({ name: 'test', level: 'debug', destination }) });
  onTestFinished(() => closeRedis(client));
  return { client, lines };
}

async function ready(role: typeof commandClient, url: string): Promise<Redis> {
  const { client } = open(role, url);
  await waitForRedis(client, AbortSignal.timeout(30_000));
  return client;
}

/** A command succeeds again, whatever the client goes through meanwhile. */
const takesWrites = (client: Redis) => eventually(() => client.incr('{0}count').then(() => true));

describe.skipIf(!hasServer)('a cluster, where there is a server', () => {
  async function aCluster(withReplica = false): Promise<LocalCluster> {
    const cluster = await startLocalCluster({ withReplica });
    onTestFinished(() => cluster.stop());
    return cluster;
  }

  it('is reached by any of its nodes, and by those that are named beside one that is away', async () => {
    const { nodes, ask } = await aCluster();
    const owner = nodes[2]?.port ?? 0;
    for (const { port } of nodes) {
      const client = await ready(commandClient, `redis://127.0.0.1:${port}?cluster`);
      await client.set('{0}key', String(port));
      expect(client.stream).toMatchObject({ remotePort: owner });
    }
    const away = await freePort();
    const named = `redis://127.0.0.1:${away}?cluster&nodes=127.0.0.1:${nodes[0]?.port}`;
    expect(await (await ready(queueClient, named)).get('{0}key')).toBe(String(owner));
    const heard: string[] = [];
    const subscriber = await ready(subscriberClient, named);
    subscriber.on('message', (channel: string, message: string) => heard.push(`${channel} ${message}`));
    await subscriber.subscribe('{0}channel');
    await ask(owner, 'SPUBLISH', '{0}channel', 'Hello');
    await eventually(() => heard.length > 0);
    expect(heard).toEqual(['{0}channel Hello']);
  });

  it('whose slot goes to another primary keeps its subscribers', async () => {
    const { nodes, ask } = await aCluster();
    const [next] = nodes;
    const subscriber = await ready(subscriberClient, `redis://127.0.0.1:${next?.port}?cluster`);
    const heard: string[] = [];
    subscriber.on('message', (_channel: string, message: string) => heard.push(message));
    await subscriber.subscribe('{0}channel');
    const id = String(await ask(next?.port ?? 0, 'CLUSTER', 'MYID'));
    for (const { port } of nodes) await ask(port, 'CLUSTER', 'SETSLOT', '13907', 'NODE', id);
    await eventually(async () => {
      await ask(next?.port ?? 0, 'SPUBLISH', '{0}channel', 'Hello');
      return heard.includes('Hello');
    });
    expect(subscriber.stream).toMatchObject({ remotePort: next?.port });
  });

  it('is followed when a replica takes over, on request and because its primary died', async () => {
    const { nodes, ask } = await aCluster(true);
    const [, , primary, replica] = nodes;
    const url = `redis://127.0.0.1:${nodes[0]?.port}?cluster`;
    const clients = await Promise.all([ready(commandClient, url), ready(queueClient, url)]);
    await Promise.all(clients.map(takesWrites));
    await ask(replica?.port ?? 0, 'CLUSTER', 'FAILOVER');
    await eventually(async () => {
      await Promise.all(clients.map(takesWrites));
      return clients.every(({ stream }) => stream.remotePort === replica?.port);
    });
    // The former primary is its replica by now, and becomes the primary again.
    await eventually(async () =>
      String(await ask(primary?.port ?? 0, 'INFO', 'replication')).includes('master_link_status:up'),
    );
    process.kill(replica?.pid ?? 0, 'SIGKILL');
    await ask(primary?.port ?? 0, 'CLUSTER', 'FAILOVER', 'TAKEOVER');
    await Promise.all(clients.map(takesWrites));
    expect(Number(await clients[0]?.get('{0}count'))).toBeGreaterThanOrEqual(6);
  });

  it('that lacks the slot says so, and is waited for', async () => {
    const { nodes, ask } = await aCluster();
    const [first, , owner] = nodes;
    // The owner first. What it has said before may still give the slot back to it at the others, and may come behind their own turn.
    await ask(owner?.port ?? 0, 'CLUSTER', 'DELSLOTS', '13907');
    const others = nodes.filter((node) => node !== owner);
    const drop = () =>
      Promise.all(others.map(({ port }) => ask(port, 'CLUSTER', 'DELSLOTS', '13907').catch(() => undefined)));
    await drop();
    const { client, lines } = open(commandClient, `redis://127.0.0.1:${first?.port}?cluster`);
    await eventually(async () => {
      await drop();
      return lines.some((line) => line.includes('no node has slot 13907'));
    });
    expect(client.status).toBe('connecting');
    await expect(client.ping()).rejects.toThrow("Stream isn't writeable");
    for (const { port } of nodes)
      await ask(
        port,
        'CLUSTER',
        'SETSLOT',
        '13907',
        'NODE',
        String(await ask(owner?.port ?? 0, 'CLUSTER', 'MYID')),
      );
    await waitForRedis(client, AbortSignal.timeout(30_000));
    await takesWrites(client);
  });
});

describe.skipIf(!hasServer)('a primary behind Sentinels, where there is a server', () => {
  it('is found, and followed when a replica takes over', async () => {
    const sentinel: LocalSentinel = await startLocalSentinel();
    onTestFinished(() => sentinel.stop());
    const away = await freePort();
    const url = `redis://127.0.0.1:${away}?sentinel=${sentinel.name}&nodes=127.0.0.1:${sentinel.port}`;
    const clients = await Promise.all([ready(commandClient, url), ready(queueClient, url)]);
    expect(clients.map(({ stream }) => stream.remotePort)).toEqual(clients.map(() => sentinel.primary.port));
    await sentinel.failOver();
    await eventually(async () => {
      await Promise.all(clients.map(takesWrites));
      return clients.every(({ stream }) => stream.remotePort === sentinel.replica.port);
    });
    const { lines } = open(commandClient, `redis://127.0.0.1:${sentinel.port}?sentinel=another`);
    await eventually(() => lines.some((line) => line.includes("it knows no primary named 'another'")));
  });

  it('is given up when its client is closed', async () => {
    const { client } = open(commandClient, `redis://127.0.0.1:${await freePort()}?sentinel=store`);
    await closeRedis(client);
    expect(client.status).toBe('end');
  });
});
