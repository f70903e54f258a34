import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { describe, expect, inject, it } from 'vitest';
import { eventually, startLocalRedis, startRedisProxy, testRedis, within } from '../src/index.ts';
import { dockerAnswers } from '../src/docker-engine.ts';
import { storeImage } from '../src/redis-for-the-run.ts';

describe('test redis', () => {
  it('deletes the keys of its prefix and no others', async () => {
    const watcher = await testRedis();
    const redis = await testRedis();
    await redis.client.set(`${redis.prefix}:a`, '1');
    await redis.client.set(`bull:${redis.prefix}:b`, '1');
    await watcher.client.set(`${watcher.prefix}:c`, '1');
    await redis.close();
    await redis.close();
    expect(await watcher.client.exists(`${redis.prefix}:a`, `bull:${redis.prefix}:b`)).toBe(0);
    expect(await watcher.client.exists(`${watcher.prefix}:c`)).toBe(1);
    await watcher.close();
  });

  it('ends every connection it made', async () => {
    const redis = await testRedis();
    const second = redis.connect();
    await second.ping();
    await redis.close();
    expect([redis.client.status, second.status]).toEqual(['end', 'end']);
  });

  it('does not wait for a Redis that goes while it closes', async () => {
    const proxy = await startRedisProxy(inject('redisUrl'));
    const redis = await testRedis(proxy.url);
    proxy.silence();
    const closing = redis.close();
    proxy.refuse();
    await within(closing);
    expect(redis.client.status).toBe('end');
    await proxy.stop();
  });
});

describe('local redis', () => {
  it('falls back to the embedded store when no server is on the PATH', async () => {
    const redis = await startLocalRedis({ path: '' });
    expect(redis.kind).toBe('embedded');
    const user = await testRedis(redis.url);
    expect(await user.client.ping()).toBe('PONG');
    await user.close();
    await redis.stop();
    await redis.stop();
  });

  it('can be killed while a test is connected', async () => {
    const redis = await startLocalRedis();
    const user = await testRedis(redis.url);
    await redis.kill();
    await eventually(() => user.client.status === 'reconnecting');
    await user.close();
    await redis.stop();
  });

  it('says why it did not start', async () => {
    await expect(startLocalRedis({ kind: 'server', path: '' })).rejects.toThrow(
      'redis-server is on the PATH',
    );
  });
});

describe('the image of the store', () => {
  it('is the one that docker-compose.yml runs, by its version', () => {
    expect(storeImage()).toMatch(/^valkey\/valkey:\d+\.\d+\.\d+/);
  });
});

describe('docker check', () => {
  it('accepts an engine that answers its ping', async () => {
    const engine = createServer((request, response) => {
      response.writeHead(request.url === '/_ping' ? 200 : 404).end();
    });
    const port = await listen(engine);
    expect(await dockerAnswers(`tcp://127.0.0.1:${port}`)).toBe(true);
    await new Promise((resolve) => engine.close(resolve));
    expect(await dockerAnswers(`tcp://127.0.0.1:${port}`)).toBe(false);
  });

  it('gives up on one that accepts and says nothing', async () => {
    const silent = createTcpServer((socket) => socket.resume());
    const port = await listen(silent);
    expect(await dockerAnswers(`tcp://127.0.0.1:${port}`)).toBe(false);
    await new Promise((resolve) => silent.close(resolve));
  });

  it('does not ask engines behind SSH', async () => {
    expect(await dockerAnswers('ssh://somewhere')).toBe(false);
  });
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A TCP server that listens has such an address.
  return (server.address() as AddressInfo).port;
}
