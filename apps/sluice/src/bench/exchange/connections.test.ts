import { type FakeUpstream, startFakeUpstream } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Connections } from './connections.ts';
import { exchange } from './exchange.ts';

let upstream: FakeUpstream;
let connections: Connections;

beforeEach(async () => {
  upstream = await startFakeUpstream();
  connections = new Connections(upstream.url);
});
afterEach(async () => {
  await connections.close();
  await upstream.close();
});

function get(signal = new AbortController().signal) {
  return connections.use((connection) =>
    exchange(connection, { method: 'GET', path: '/x', headers: {}, signal }),
  );
}

describe('connections', () => {
  it('are used again, one after the other', async () => {
    upstream.onOther(({ json }) => json(200, {}));
    for (let at = 0; at < 10; at++) await get();
    expect(upstream.openSockets).toBe(1);
  });

  it('are as many as there are requests at a time, and the latest ones are used first', async () => {
    upstream.onOther(({ json }) => json(200, {}));
    await Promise.all(Array.from({ length: 5 }, () => get()));
    expect(upstream.openSockets).toBe(5);
    for (let at = 0; at < 5; at++) await get();
    expect(upstream.openSockets).toBe(5);
  });

  it('are closed when their request was given up, and another one is made', async () => {
    upstream.onOther(({ hang }) => hang());
    const ending = new AbortController();
    const given = get(ending.signal);
    await upstream.request(0);
    ending.abort('enough');
    await expect(given).rejects.toBe('enough');
    expect(await upstream.requests[0]?.ended).toBe('aborted');
    upstream.onOther(({ json }) => json(200, {}));
    expect(await get()).toMatchObject({ status: 200 });
  });

  it('end with what they carry when they are closed', async () => {
    upstream.onOther(({ hang }) => hang());
    const request = get();
    await upstream.request(0);
    await connections.close();
    await expect(request).rejects.toThrow(/destroyed/);
  });
});
