import type { ProviderSettings } from '@sluice/config';
import { loadSettings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import { latch } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { idleProvider } from '../../test/idle-upstreams.ts';
import type { ModelRoute } from '../model-routes.ts';
import { RunnerModels, type RunnerModelsOptions } from './runner-models.ts';

/** Settings whose models have one route each, to a provider with this base URL and these further settings. */
function settingsWith(models: Record<string, string>, more = '') {
  const entries = Object.entries(models);
  const text = [
    'providers:',
    ...entries.map(
      ([id, host]) => `  - { id: p-${id}, type: openai-chat, baseUrl: "http://${host}" ${more}}`,
    ),
    'models:',
    ...entries.map(([id]) => `  - { id: ${id}, routes: [{ provider: p-${id} }] }`),
  ].join('\n');
  return loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => text });
}

interface SetUpOptions extends Pick<RunnerModelsOptions, 'resolve' | 'onServers'> {
  /** The host of an upstream for which this machine lacks something. */
  lacks?: string;
  /** Further settings of each provider. */
  more?: string;
}

function setUp(started: Record<string, string>, { lacks, more, ...options }: SetUpOptions = {}) {
  const closed: string[] = [];
  const createProvider = (settings: ProviderSettings): Provider => {
    const host = 'baseUrl' in settings ? settings.baseUrl.replace('http://', '') : '';
    return {
      ...idleProvider(settings.id),
      prepare: () => Promise.resolve(host === lacks ? `it lacks ${lacks}` : undefined),
      close: () => {
        closed.push(`${settings.id} at ${host}`);
        return Promise.resolve();
      },
    };
  };
  const settings = settingsWith(started, more);
  const providers = new Map(settings.providers.map((each) => [each.id, createProvider(each)]));
  const models = new RunnerModels({
    settings,
    providers,
    createProvider,
    ...options,
    onError: (error) => {
      throw error;
    },
  });
  /** Changes the models; `removed` are still served. */
  const change = async (to: Record<string, string>, removed: Record<string, string> = {}) => {
    const next = settingsWith(to, more);
    await models.prepare(next);
    const still = Object.keys(removed).length > 0 ? settingsWith(removed).models : [];
    models.take({ ...next, served: [...next.models, ...still] });
  };
  return { models, change, closed };
}

const providerOf = (models: RunnerModels, id: string) => models.routesOf(id)?.[0]?.provider;

describe('the models of a runner', () => {
  it('keep an upstream whose settings have not changed, and make another of one that has', async () => {
    const { models, change, closed } = setUp({ a: 'one', b: 'one' });
    const [a, b] = [providerOf(models, 'a'), providerOf(models, 'b')];
    await change({ a: 'one', b: 'two', c: 'three' });
    expect(providerOf(models, 'a')).toBe(a);
    expect(providerOf(models, 'b')).not.toBe(b);
    expect(providerOf(models, 'c')).toMatchObject({ id: 'p-c' });
    expect(closed).toEqual(['p-b at one']);
  });

  it('close an upstream that has changed once no response uses it', async () => {
    const { models, change, closed } = setUp({ a: 'one' });
    const [first, second] = [models.use('a'), models.use('a')];
    await change({ a: 'two' });
    first?.end();
    first?.end();
    expect(closed).toEqual([]);
    second?.end();
    expect(closed).toEqual(['p-a at one']);
  });

  it('keep the routes of a removed model as long as it is served', async () => {
    const { models, change, closed } = setUp({ a: 'one', b: 'one' });
    const routes = models.routesOf('b');
    await change({ a: 'one' }, { b: 'one' });
    expect(models.routesOf('b')).toBe(routes);
    expect(closed).toEqual([]);
    await change({ a: 'one' });
    expect(models.routesOf('b')).toBeUndefined();
    expect(models.use('b')).toBeUndefined();
    expect(closed).toEqual(['p-b at one']);
  });

  it('stay as they are when this machine lacks what a new upstream needs, and say which one', async () => {
    const { models, change, closed } = setUp({ a: 'one' }, { lacks: 'two' });
    const a = providerOf(models, 'a');
    await expect(change({ b: 'three', a: 'two' })).rejects.toMatchObject({
      problems: [{ path: 'providers[1]', message: 'it lacks two' }],
    });
    expect(providerOf(models, 'a')).toBe(a);
    expect(closed.toSorted()).toEqual(['p-a at two', 'p-b at three']);
  });

  it('leave the servers behind the name of a changed provider as they are for the responses that use them', async () => {
    const answers = new Map<string, (address: string) => void>();
    const changed = latch();
    const { models, change } = setUp(
      { a: 'one.example' },
      {
        more: ', resolve: true',
        resolve: (host) =>
          new Promise((answer) => {
            answers.set(host, (address) => answer([{ address, family: 4 }]));
          }),
        onServers: () => changed.open(),
      },
    );
    models.start();
    const use = models.use('a');
    await change({ a: 'two.example' });
    answers.get('one.example')?.('10.0.0.1');
    answers.get('two.example')?.('10.0.0.2');
    await changed.wait();
    const namesOf = (routes: readonly ModelRoute[] = []) => routes.map(({ server }) => server?.name);
    expect(namesOf(models.routesOf('a'))).toEqual(['10.0.0.2']);
    expect(namesOf(use?.routes)).toEqual(['http://one.example']);
    await models.close();
  });

  it('close every upstream at the end, also those that responses have used to the last', async () => {
    const { models, change, closed } = setUp({ a: 'one' });
    models.use('a');
    await change({ a: 'two' });
    await models.close();
    expect(closed.toSorted()).toEqual(['p-a at one', 'p-a at two']);
  });
});
