import { isDiscovering, loadSettings } from '@sluice/config';
import { type FakeUpstream, startFakeUpstream } from '@sluice/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { askForModels } from '../src/models/ask-for-models.ts';

let servers: FakeUpstream[];

beforeEach(async () => {
  servers = await Promise.all([0, 1, 2].map(() => startFakeUpstream()));
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

function ask() {
  const replicas = servers.map(({ baseUrl }) => `'${baseUrl}'`).join(', ');
  const text = `providers: [{ id: up, type: openai-chat, replicas: [${replicas}], apiKey: k, discover: true }]`;
  const { providers } = loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => text });
  const provider = providers.find(isDiscovering) ?? expect.unreachable();
  return askForModels(provider, new AbortController().signal);
}

it('asks the servers of a provider in turn until one lists its models', async () => {
  const [down, refusing, listing] = servers;
  down?.onOther(({ cut }) => cut());
  refusing?.onOther(({ json }) => json(503, {}));
  listing?.onOther(({ json }) => json(200, { data: [{ id: 'a' }, { id: 'b' }] }));
  expect(await ask()).toEqual({ models: ['a', 'b'] });
  expect(listing?.requests.map(({ path, headers }) => [path, headers['authorization']])).toEqual([
    ['/v1/models', 'Bearer k'],
  ]);
});

it('tells the fault of the last server when none lists any', async () => {
  for (const server of servers) server.onOther(({ json }) => json(500, {}));
  expect(await ask()).toEqual({ fault: 'answers with status 500 and no list' });
});
