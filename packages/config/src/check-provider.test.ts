import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkProvider, missingVariable } from './check-provider.ts';
import { loadSettings } from './load-settings.ts';
import { storedProviderSchema } from './provider-schema.ts';

const house = { id: 'house', type: 'openai-chat', baseUrl: 'http://127.0.0.1:8000/v1' };

function settingsOf(wanted: unknown, keys?: Record<string, string>) {
  const checked = checkProvider(wanted, keys);
  return 'settings' in checked ? checked.settings : expect.unreachable(JSON.stringify(checked.problems));
}

describe('a stored provider', () => {
  it('is what the same provider of the file is', () => {
    const text = JSON.stringify({
      providers: [house],
      models: [{ id: 'm', routes: [{ provider: 'house' }] }],
    });
    const { providers } = loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => text });
    expect(settingsOf(house)).toEqual(providers[0]);
  });

  it('keeps its members as they were given', () => {
    const replicas = ['http://10.0.0.1/v1', 'http://10.0.0.2/v1'];
    const wanted = { id: 'house', type: 'openai-responses', replicas };
    expect(checkProvider(wanted)).toMatchObject({ members: wanted, settings: { baseUrl: replicas[0] } });
  });

  it('has the key of the variable that it names, and says which one is missing', () => {
    const wanted = { ...house, apiKeyVariable: 'UPSTREAM_HOUSE' };
    const complete = settingsOf(wanted, { UPSTREAM_HOUSE: 'sk-1', UPSTREAM_OTHER: 'sk-2' });
    expect([complete, missingVariable(complete)]).toEqual([
      expect.objectContaining({ apiKey: 'sk-1' }),
      undefined,
    ]);
    const without = settingsOf(wanted, { UPSTREAM_OTHER: 'sk-2' });
    expect([without, missingVariable(without)]).toEqual([
      expect.not.objectContaining({ apiKey: expect.anything() }),
      'UPSTREAM_HOUSE',
    ]);
    expect(missingVariable(settingsOf(house))).toBeUndefined();
  });

  it.each([
    [{ ...house, apiKey: 'sk-1' }, 'apiKey', 'is kept in no store'],
    [{ ...house, headers: { 'x-key': '1' } }, 'headers', 'is kept in no store'],
    [{ ...house, apiKeyVariable: 'ADMIN_TOKEN' }, 'apiKeyVariable', 'must be UPSTREAM_'],
    [{ ...house, apiKeyVariable: 'UPSTREAM_' }, 'apiKeyVariable', 'must be UPSTREAM_'],
    [{ ...house, apiKeyVariable: 'XUPSTREAM_A' }, 'apiKeyVariable', 'must be UPSTREAM_'],
    [{ ...house, apiKeyVariable: 'UPSTREAM_A\nB' }, 'apiKeyVariable', 'must be UPSTREAM_'],
    [{ ...house, baseUrl: undefined }, 'baseUrl', 'is missing'],
    [{ ...house, baseUrl: 'http://me:secret@host/v1' }, 'baseUrl', 'must not hold a user name'],
    [{ ...house, replicas: ['http://10.0.0.1/v1'] }, 'replicas', 'stands in place of `baseUrl`'],
    [{ ...house, resolve: true }, 'resolve', 'needs a name'],
    [{ ...house, discovery: { everyMs: 5_000 } }, 'discovery', 'has no effect'],
    [{ ...house, basUrl: 'x' }, 'basUrl', 'did you mean'],
    [{ ...house, id: 'a b' }, 'id', 'must be 1 to 64'],
    [{ id: 'a', type: 'ai-sdk', package: '@ai-sdk/x' }, 'type', 'others belong in the settings file'],
    [{ id: 'a', type: 'simulator', apiKeyVariable: 'UPSTREAM_A' }, 'apiKeyVariable', 'is not a setting'],
    ['text', '', ''],
  ])('is refused by name: %j', (wanted, path, words) => {
    const checked = checkProvider(wanted);
    const problems = 'problems' in checked ? checked.problems : [];
    const found = problems.find((each) => each.path.join('.') === path);
    expect(found?.message, JSON.stringify(checked)).toContain(words);
  });
});

it('no member of a stored provider is a secret', () => {
  const tree = JSON.stringify(z.toJSONSchema(storedProviderSchema, { io: 'input' }));
  expect(tree).toContain('apiKeyVariable');
  expect(tree).not.toContain('"secret":true');
});

describe('the keys that stored providers may name', () => {
  it('are variables of their own kind alone', () => {
    const text = JSON.stringify({});
    const env = { UPSTREAM_A: 'sk-1', UPSTREAM_b: 'x', UPSTREAM_C: '', ADMIN_TOKEN: 'x'.repeat(32) };
    const { upstreamKeys } = loadSettings({ env, argv: [], cwd: '/', readFile: () => text });
    expect(upstreamKeys).toEqual({ UPSTREAM_A: 'sk-1' });
  });
});
