import { loadSettings, type ProviderSettings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import { latch } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { idleProvider } from '../../test/idle-upstreams.ts';
import { ResolvedAddresses, type Resolve } from './resolved-addresses.ts';
import { isPooled, ServerPool } from './server-pool.ts';

const fieldsOf = (fields: string): ProviderSettings => {
  const text = `providers: [{ id: up, type: openai-chat, ${fields} }]\nmodels: [{ id: m, routes: [{ provider: up }] }]`;
  const [settings] = loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => text }).providers;
  return settings ?? expect.unreachable();
};

function setUp(fields: string, resolve?: Resolve) {
  const closed: string[] = [];
  const createProvider = (settings: ProviderSettings, address = ''): Provider => ({
    ...idleProvider(settings.id),
    close: () => {
      closed.push(`${'baseUrl' in settings ? settings.baseUrl : ''} ${address}`.trim());
      return Promise.resolve();
    },
  });
  const settings = fieldsOf(fields);
  if (!isPooled(settings)) throw new Error('it has one server');
  const changes: string[][] = [];
  let onChange = () => undefined as void;
  const pool = new ServerPool({
    settings,
    first: createProvider(settings),
    createProvider,
    resolve,
    onChange: () => {
      changes.push(names());
      onChange();
    },
    onError: (error) => {
      throw error;
    },
  });
  const names = () => pool.routesTo('m').map(({ server }) => server?.name ?? '');
  const changed = (times: number) => {
    const reached = latch();
    onChange = () => {
      if (changes.length >= times) reached.open();
    };
    onChange();
    return reached.wait();
  };
  return { pool, names, changed, closed };
}

const four = (...addresses: string[]) => addresses.map((address) => ({ address, family: 4 }));

describe('the servers of a provider', () => {
  it('are those of its list, each with a route that stays the same object', async () => {
    const { pool, names, closed } = setUp('replicas: ["http://a/v1/", "http://b:80/v1"]');
    expect(names()).toEqual(['http://a/v1', 'http://b/v1']);
    expect(pool.routesTo('m')[1]).toBe(pool.routesTo('m')[1]);
    expect(pool.routesTo('m')[0]?.server?.key).toBe('up http://a/v1');
    await pool.close();
    expect(closed).toEqual(['http://a/v1/', 'http://b:80/v1']);
  });

  it('are the addresses that its name resolves to, and the name itself before', async () => {
    const { pool, names, changed, closed } = setUp('baseUrl: "http://up.example/v1", resolve: true', () =>
      Promise.resolve(four('10.0.0.2', '10.0.0.1', '10.0.0.2')),
    );
    expect(names()).toEqual(['http://up.example/v1']);
    pool.start();
    await changed(1);
    expect(names()).toEqual(['10.0.0.1', '10.0.0.2']);
    await pool.close();
    expect(closed.toSorted()).toEqual([
      'http://up.example/v1',
      'http://up.example/v1 10.0.0.1',
      'http://up.example/v1 10.0.0.2',
    ]);
  });

  it('are the name alone while it does not resolve', async () => {
    const asked = latch();
    const { pool, names } = setUp('baseUrl: "http://up.example/v1", resolve: true', () => {
      asked.open();
      return Promise.reject(new Error('ENOTFOUND'));
    });
    pool.start();
    await asked.wait();
    await pool.close();
    expect(names()).toEqual(['http://up.example/v1']);
  });
});

describe('the addresses of a name', () => {
  const seenOf = (answers: (() => Promise<{ address: string; family: number }[]>)[]) => {
    const seen: string[] = [];
    const addresses = new ResolvedAddresses({
      host: 'up.example',
      resolve: () => (answers.shift() ?? (() => Promise.resolve([])))(),
      onChange: (found) => seen.push(found.join(' ')),
    });
    return { seen, addresses };
  };

  it('are told when they change, and not for an order or an outage of DNS', async () => {
    const { seen, addresses } = seenOf([
      () => Promise.resolve(four('10.0.0.1', '10.0.0.2')),
      () => Promise.resolve(four('10.0.0.2', '10.0.0.1')),
      () => Promise.reject(new Error('ESERVFAIL')),
      () => Promise.resolve([]),
      () => Promise.resolve(four('10.0.0.2', '10.0.0.3')),
    ]);
    for (let at = 0; at < 5; at += 1) await addresses.look();
    expect(seen).toEqual(['10.0.0.1 10.0.0.2', '10.0.0.2 10.0.0.3']);
  });

  it('are those of IPv4 where there are both kinds', async () => {
    const both = [...four('10.0.0.1'), { address: 'fd00::1', family: 6 }];
    const { seen, addresses } = seenOf([() => Promise.resolve(both), () => Promise.resolve(both.slice(1))]);
    await addresses.look();
    await addresses.look();
    expect(seen).toEqual(['10.0.0.1', 'fd00::1']);
  });

  it('are resolved again and again, until a stop that waits for no answer', async () => {
    let asked = 0;
    const thrice = latch();
    const addresses = new ResolvedAddresses({
      host: 'up.example',
      everyMs: 1,
      resolve: () => {
        asked += 1;
        if (asked < 3) return Promise.resolve(four(`10.0.0.${asked}`));
        thrice.open();
        return new Promise(() => undefined);
      },
      onChange: () => undefined,
    });
    addresses.start();
    await thrice.wait();
    await addresses.stop();
    expect(asked).toBe(3);
  });
});
