import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadSettings } from './load-settings.ts';
import { settingsTree, type SchemaNode } from './schema-node.ts';
import { renderSettingsReference, renewReference } from './settings-reference.ts';

const fromRoot = (path: string) => new URL(`../../../${path}`, import.meta.url);

describe('the reference of settings', () => {
  it(`is as the schema renders it; if not, run: ${renewReference}`, () => {
    const page = readFileSync(fromRoot('docs/settings.md'), 'utf8').replaceAll('\r\n', '\n');
    expect(page === renderSettingsReference(), `docs/settings.md is stale, run: ${renewReference}`).toBe(
      true,
    );
  });

  it('has a description of every setting', () => {
    expect(withoutDescription(settingsTree(), '')).toEqual([]);
  });
});

describe('the example file', () => {
  const env = { VLLM_API_KEY: 'v', SPARE_TOKEN: 's', TEAM_A_KEY: 'a', TEAM_B_KEY: 'b' };
  const load = (given: Record<string, string>) =>
    loadSettings({
      env: given,
      argv: [],
      cwd: '/',
      readFile: () => readFileSync(fromRoot('sluice.example.yaml'), 'utf8'),
    });

  it('loads with its variables set', () => {
    const settings = load(env);
    expect(settings.models.map(({ id }) => id)).toEqual(['simulator', 'qwen3-8b']);
    expect(settings.keys.map(({ name, limits }) => [name, limits.queued])).toEqual([
      ['team-a', 1000],
      ['team-a', 1000],
      ['team-b', undefined],
    ]);
  });

  it('names each of its variables that is missing', () => {
    for (const name of Object.keys(env))
      expect(() => load({ ...env, [name]: '' })).toThrow(`variable ${name},`);
  });
});

function withoutDescription(node: SchemaNode, path: string): string[] {
  const children: [string, SchemaNode][] = [
    ...Object.entries(node.properties ?? {}).filter(([name]) => name !== 'type'),
    ...(node.items?.oneOf ?? []).map((kind): [string, SchemaNode] => ['[]', kind]),
    ...(node.items?.properties === undefined ? [] : [['[]', node.items] as [string, SchemaNode]]),
  ];
  return children.flatMap(([name, child]) => [
    ...(child.description === undefined && name !== '[]' ? [`${path}.${name}`] : []),
    ...withoutDescription(child, `${path}.${name}`),
  ]);
}
