import { loadSettings } from '@sluice/config';
import { describe, expect, it } from 'vitest';
import { matches, uniteModels } from './unite-models.ts';

function settingsOf(text: string) {
  return loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => text });
}

const upstream = (id: string, more = '') =>
  `  - { id: ${id}, type: openai-chat, baseUrl: "http://${id}/v1", discover: true${more} }\n`;

describe('the models of a service', () => {
  it('are those of the file and, behind them, those that upstreams list, with a route to each that does', () => {
    const settings = settingsOf(
      `providers:\n${upstream('p')}${upstream('q')}models: [{ id: own, concurrency: 3, routes: [{ provider: q }] }]`,
    );
    const listed = new Map([
      ['q', ['own', 'both', 'only-q']],
      ['p', ['both']],
    ]);
    expect(uniteModels(settings, listed)).toEqual([
      { id: 'own', queue: 'own', concurrency: 3, routes: [{ provider: 'q', model: 'own' }] },
      {
        id: 'both',
        queue: 'p',
        routes: [
          { provider: 'p', model: 'both' },
          { provider: 'q', model: 'both' },
        ],
      },
      { id: 'only-q', queue: 'q', routes: [{ provider: 'q', model: 'only-q' }] },
    ]);
  });

  it('are of a list those that the settings let through, and none of a provider that does not discover', () => {
    const settings = settingsOf(
      `providers:\n${upstream('p', ', discovery: { models: ["llama*", "*:8b"], concurrency: 5 }')}` +
        '  - { id: q, type: openai-chat, baseUrl: "http://q/v1" }\n',
    );
    const listed = new Map([
      ['p', ['llama3', 'qwen3:8b', 'qwen3:32b']],
      ['q', ['x']],
    ]);
    expect(uniteModels(settings, listed).map(({ id, concurrency }) => [id, concurrency])).toEqual([
      ['llama3', 5],
      ['qwen3:8b', 5],
    ]);
  });

  it('have the concurrency that the file gives their queue', () => {
    const settings = settingsOf(
      `providers:\n${upstream('p', ', discovery: { concurrency: 5 }')}models: [{ id: m, queue: p, concurrency: 2, routes: [{ provider: p }] }]`,
    );
    expect(uniteModels(settings, new Map([['p', ['x']]]))[1]).toMatchObject({ queue: 'p', concurrency: 2 });
  });
});

describe('a pattern of names', () => {
  it.each([
    ['a', 'a', true],
    ['ab', 'a', false],
    ['abc', 'a*', true],
    ['abc', '*c', true],
    ['abc', 'a*c', true],
    ['ac', 'a*c', true],
    ['aba', 'ab*ba', false],
    ['x-abc-y', '*abc*', true],
    ['x-ab-y', '*abc*', false],
    ['a1b2c', 'a*b*c', true],
    ['a1c2b', 'a*b*c', false],
    ['anything', '*', true],
    ['a.c', 'a?c', false],
  ])('%s with %s is %s', (name, pattern, is) => {
    expect(matches(name, pattern)).toBe(is);
  });

  it('of many stars takes no time on a long name', () => {
    expect(matches('a'.repeat(250), `${'a*'.repeat(120)}b`)).toBe(false);
  });
});
