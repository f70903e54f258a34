import { isDiscovering, loadSettings } from '@sluice/config';
import { createLogger } from '@sluice/runtime';
import { eventually, forEachTest, latch, testRedis } from '@sluice/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { LiveModels } from '../src/models/live-models.ts';
import { type ListedModels, ModelDiscovery } from '../src/models/model-discovery.ts';

const redis = forEachTest(testRedis);
/** The store's time. */
let now: number;

beforeEach(() => {
  now = 1_000_000;
});

const fileWith = (more = '', host = 'p') =>
  loadSettings({
    env: {},
    argv: [],
    cwd: '/',
    readFile: () =>
      `providers: [{ id: p, type: openai-chat, baseUrl: "http://${host}/v1", discover: true${more} }]`,
  });

/** A process; with `ask`, one that asks the upstream. */
function aProcess({
  ask,
  settings = fileWith(),
}: {
  ask?: () => ListedModels | Promise<ListedModels>;
  settings?: ReturnType<typeof fileWith>;
} = {}) {
  const logged: string[] = [];
  const live = new LiveModels({ settings, isEmpty: () => Promise.resolve(true) });
  let asked = 0;
  const discovery = new ModelDiscovery({
    live,
    connection: redis.client,
    keyPrefix: redis.prefix,
    clock: { now: () => now },
    logger: createLogger({
      name: 'test',
      level: 'info',
      destination: { write: (line) => logged.push(line) },
    }),
    lookEveryMs: 5,
    ...(ask && {
      ask: async () => {
        asked += 1;
        return ask();
      },
    }),
  });
  onTestFinished(() => discovery.stop());
  return {
    live,
    discovery,
    logged,
    asked: () => asked,
    start: () => discovery.start(new AbortController().signal),
    models: () => live.models.map(({ id }) => id),
    saw: (...ids: string[]) => eventually(() => live.models.map(({ id }) => id).join() === ids.join()),
  };
}

/** Lets the upstream be asked again although its time has not come. */
const askAgain = async () => {
  const keys = await redis.client.keys(`${redis.prefix}discovered:asked:*`);
  if (keys.length > 0) await redis.client.del(...keys);
};

describe('discovered models', () => {
  it('are asked for by one process, and offered by all, also by one that starts later', async () => {
    const workers = [0, 1, 2].map(() => aProcess({ ask: () => ({ models: ['a', 'b'] }) }));
    const api = aProcess();
    await Promise.all([...workers, api].map((each) => each.start()));
    await Promise.all([...workers, api].map((each) => each.saw('a', 'b')));
    expect(workers.reduce((sum, each) => sum + each.asked(), 0)).toBe(1);
    const late = aProcess();
    await late.start();
    expect(late.models()).toEqual(['a', 'b']);
  });

  it('follow the list', async () => {
    let models = ['a', 'b'];
    const worker = aProcess({ ask: () => ({ models }) });
    const api = aProcess();
    await Promise.all([worker.start(), api.start()]);
    await api.saw('a', 'b');
    models = ['b', 'c'];
    await askAgain();
    await api.saw('b', 'c');
    expect(api.live.served.map(({ id }) => id)).toEqual(['b', 'c', 'a']);
  });

  it('stay for a while when the upstream does not answer, and go then', async () => {
    let answer: ListedModels = { models: ['a'] };
    const worker = aProcess({ ask: () => answer, settings: fileWith(', discovery: { keepMs: 5000 }') });
    await worker.start();
    await worker.saw('a');
    answer = { fault: 'does not answer' };
    await askAgain();
    await eventually(() => worker.discovery.known('p')?.fault === 'does not answer');
    now += 5_000;
    await worker.discovery.look();
    expect(worker.models()).toEqual(['a']);
    now += 1;
    await worker.saw();
    answer = { models: ['a'] };
    await askAgain();
    await worker.saw('a');
    const said = worker.logged.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(said).toContain('upstream lists no models, those known stay for a while');
    expect(said).toContain('upstream lists its models again');
  });

  it('stay when the store was emptied, and are asked for again', async () => {
    const worker = aProcess({ ask: () => ({ models: ['a'] }) });
    const api = aProcess();
    await Promise.all([worker.start(), api.start()]);
    await api.saw('a');
    const keys = await redis.client.keys(`${redis.prefix}discovered*`);
    await redis.client.del(...keys);
    await api.discovery.look();
    expect(api.models()).toEqual(['a']);
    await eventually(() => worker.asked() === 2);
  });

  it('stay while an upstream that has moved is asked', async () => {
    const moved = latch<ListedModels>();
    let ask: () => ListedModels | Promise<ListedModels> = () => ({ models: ['a'] });
    const worker = aProcess({ ask: () => ask() });
    await worker.start();
    await worker.saw('a');
    ask = () => moved.wait();
    worker.live.replace(fileWith('', 'elsewhere'));
    await eventually(() => worker.asked() === 2);
    expect(worker.models()).toEqual(['a']);
    moved.open({ models: ['b'] });
    await worker.saw('b');
  });

  it('go at once with `discover` of their provider', async () => {
    const worker = aProcess({ ask: () => ({ models: ['a'] }) });
    await worker.start();
    await worker.saw('a');
    const off = loadSettings({
      env: {},
      argv: [],
      cwd: '/',
      readFile: () =>
        'providers: [{ id: p, type: openai-chat, baseUrl: "http://p/v1" }]\nmodels: [{ id: m, routes: [{ provider: p }] }]',
    });
    expect(off.providers.some(isDiscovering)).toBe(false);
    worker.live.replace(off);
    expect(worker.models()).toEqual(['m']);
    expect(worker.live.serves('a')).toBe(true);
  });

  it('are the first thousand of a longer list', async () => {
    const models = Array.from({ length: 1_500 }, (_, at) => `m${at}`);
    const worker = aProcess({ ask: () => ({ models }) });
    await worker.start();
    await eventually(() => worker.models().length > 0);
    expect(worker.models()).toEqual(models.slice(0, 1_000));
  });

  it('are left out where what is stored cannot be read', async () => {
    await redis.client.hset(`${redis.prefix}discovered`, 'p', '{"models": 5}', 'q', 'no JSON');
    await redis.client.set(`${redis.prefix}discovered:version`, 'x');
    const api = aProcess();
    await api.start();
    expect(api.models()).toEqual([]);
  });
});
