import { loadSettings } from '@sluice/config';
import { describe, expect, it } from 'vitest';
import { idleProvider } from '../../test/idle-upstreams.ts';
import { metricsHeaders, pressureOf, slotsOf } from './pressure-settings.ts';

it('reads the saturation of each replica at its own host, with the credentials', () => {
  const text = `
providers:
  - id: up
    type: openai-chat
    replicas: ["http://a:1/v1", "http://b:2/v1"]
    apiKey: k
    saturation: { metricsUrl: "http://b:2/metrics", most: 3 }
models: [{ id: m, routes: [{ provider: up }] }]`;
  const { providers } = loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => text });
  const found = [...pressureOf({ providers }).saturation].map(([key, each]) => [
    key,
    each.metricsUrl,
    each.headers,
  ]);
  const headers = { authorization: 'Bearer k' };
  expect(found).toEqual([
    ['up http://a:1/v1', 'http://a:1/metrics', headers],
    ['up http://b:2/v1', 'http://b:2/metrics', headers],
  ]);
});

describe('the credentials of an upstream', () => {
  const upstream = {
    baseUrl: 'http://up.example:8000/v1',
    apiKey: 'sk-secret',
    headers: { 'x-token': 'secret' },
  };

  it('are sent to its metrics on the same host', () => {
    expect(metricsHeaders(upstream, 'http://up.example:8000/metrics')).toEqual({
      authorization: 'Bearer sk-secret',
      'x-token': 'secret',
    });
  });

  it.each([
    'http://up.example:9090/metrics',
    'https://up.example:8000/metrics',
    'http://other.example/metrics',
  ])('are not sent to %s', (url) => {
    expect(metricsHeaders(upstream, url)).toEqual({});
  });
});

describe('the pressure of a provider', () => {
  it('is told of every upstream, and its queue of those that have a page of metrics', () => {
    const settings = loadSettings({
      env: {},
      argv: [],
      cwd: '/srv',
      readFile: () => `
providers:
  - { id: sim, type: simulator }
  - { id: vendor, type: ai-sdk, package: a-vendor, pressure: { floor: 3 } }
  - { id: gpu, type: openai-chat, baseUrl: "http://gpu:8000/v1", saturation: { metricsUrl: "http://gpu:8000/metrics" } }
models:
  - { id: m, routes: [{ provider: vendor }] }
`,
    });
    const { pressure, saturation } = pressureOf(settings);
    expect([...pressure.keys()]).toEqual(['vendor', 'gpu']);
    expect(pressure.get('vendor')).toMatchObject({ floor: 3 });
    expect([...saturation.keys()]).toEqual(['gpu']);
  });
});

describe('the slots of a route', () => {
  const provider = idleProvider();
  const routes = [{ provider: 'up', model: 'm' }];
  const slotsWith = (models: { id: string; queue: string; concurrency?: number; routes: typeof routes }[]) =>
    slotsOf({ models, workerConcurrency: 32 })({ provider, model: 'm' });

  it('are those of every queue whose models use it', () => {
    expect(slotsWith([{ id: 'a', queue: 'a', routes }])).toBe(32);
    expect(
      slotsWith([
        { id: 'a', queue: 'a', routes },
        { id: 'b', queue: 'b', concurrency: 8, routes },
        { id: 'c', queue: 'b', concurrency: 8, routes },
        { id: 'd', queue: 'd', routes: [{ provider: 'up', model: 'other' }] },
      ]),
    ).toBe(40);
  });

  it('are those of the worker for a route that responses under way have and no model', () => {
    expect(slotsWith([{ id: 'a', queue: 'a', routes: [{ provider: 'up', model: 'new name' }] }])).toBe(32);
  });

  it('are found for all routes with one look at each model', () => {
    let looks = 0;
    const models = Array.from({ length: 100 }, (_, at) => ({
      id: `m${at}`,
      queue: `m${at}`,
      get routes() {
        looks += 1;
        return [{ provider: 'up', model: `m${at}` }];
      },
    }));
    const slots = slotsOf({ models, workerConcurrency: 32 });
    expect(models.map(({ id: model }) => slots({ provider, model }))).toEqual(models.map(() => 32));
    expect(looks).toBe(100);
  });
});
