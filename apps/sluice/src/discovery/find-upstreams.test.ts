import { describe, expect, it } from 'vitest';
import { type Discovery, findUpstreams } from './find-upstreams.ts';
import type { ListRequest, ModelList } from '@sluice/providers';

const silent: ModelList = { kind: 'silent' };
const listed = (...ids: string[]): ModelList => ({
  kind: 'listed',
  models: ids.map((id, at) => ({ id, created: at })),
});

/** Looks with these variables, where each host answers as given and all others are silent. */
async function look(
  env: Record<string, string>,
  answers: Record<string, ModelList> = {},
  { fault }: { fault?: string } = {},
): Promise<Discovery & { asked: ListRequest[] }> {
  const asked: ListRequest[] = [];
  const found = await findUpstreams({
    env,
    list: async (request) => {
      asked.push(request);
      return answers[new URL(request.url).host] ?? silent;
    },
    faultOfPackage: async () => fault,
  });
  return { ...found, asked };
}

const openAi = 'api.openai.com';
const anthropic = 'api.anthropic.com';
const ollama = '127.0.0.1:11434';

describe('what is plainly there', () => {
  it('is nothing without keys and without an Ollama', async () => {
    const { upstreams, lines, asked } = await look({});
    expect({ upstreams, lines }).toEqual({ upstreams: [], lines: [] });
    expect(asked).toEqual([{ url: `http://${ollama}/v1/models`, withinMs: 2000 }]);
  });

  it("are OpenAI's models for text, the newest first, when its key is there", async () => {
    const models = listed(
      'gpt-5',
      'gpt-5-2025-08-07',
      'gpt-4-0613',
      'text-embedding-3-small',
      'o3',
      'gpt-4o-audio-preview',
    );
    const { upstreams, lines, asked } = await look({ OPENAI_API_KEY: 'sk-secret' }, { [openAi]: models });
    expect(upstreams).toEqual([
      {
        provider: {
          id: 'openai',
          type: 'openai-responses',
          baseUrl: 'https://api.openai.com/v1',
          apiKey: '${OPENAI_API_KEY}',
        },
        models: ['o3', 'gpt-5'],
      },
    ]);
    expect(lines).toEqual(['OpenAI by OPENAI_API_KEY: 2 models']);
    expect(asked).toContainEqual({
      url: 'https://api.openai.com/v1/models',
      headers: { authorization: 'Bearer sk-secret' },
      withinMs: 1000,
    });
  });

  it("are Anthropic's models, by its package", async () => {
    const answers = { [anthropic]: listed('claude-sonnet-4-5-20250929', 'other') };
    const { upstreams, asked } = await look({ ANTHROPIC_API_KEY: 'sk-ant-secret' }, answers);
    expect(upstreams).toMatchObject([
      {
        provider: {
          type: 'ai-sdk',
          options: { apiKey: '${ANTHROPIC_API_KEY}', baseURL: `https://${anthropic}/v1` },
        },
        models: ['claude-sonnet-4-5-20250929'],
      },
    ]);
    expect(asked.filter(({ headers }) => headers !== undefined)).toMatchObject([
      { url: `https://${anthropic}/v1/models?limit=50`, headers: { 'x-api-key': 'sk-ant-secret' } },
    ]);
  });

  it('says what to install for Anthropic, and sends the key nowhere', async () => {
    const { upstreams, lines, asked } = await look(
      { ANTHROPIC_API_KEY: 'sk-ant-secret' },
      {},
      { fault: 'missing' },
    );
    expect(upstreams).toEqual([]);
    expect(lines).toEqual([
      'Anthropic by ANTHROPIC_API_KEY, once its package is there: npm install @ai-sdk/anthropic',
    ]);
    expect(JSON.stringify(asked)).not.toContain('secret');
  });

  it('are the models of an Ollama that can talk', async () => {
    const { upstreams, lines } = await look({}, { [ollama]: listed('qwen3:8b', 'nomic-embed-text:latest') });
    expect(upstreams).toMatchObject([{ provider: { id: 'ollama' }, models: ['qwen3:8b'], concurrency: 4 }]);
    expect(lines).toEqual(['Ollama at 127.0.0.1:11434: 1 model']);
  });

  it.each([
    [{ OPENAI_API_KEY: 'sk-sluice-dev-secret' }],
    [{ OPENAI_API_KEY: 'sk-secret', OPENAI_BASE_URL: 'http://127.0.0.1:3000/v1' }],
    [{ OPENAI_API_KEY: 'sk-secret', OPENAI_BASE_URL: 'https://api.openai.com.example.com/v1' }],
    [{ ANTHROPIC_API_KEY: 'sk-secret', ANTHROPIC_BASE_URL: 'https://gateway.example.com' }],
    [{ OPENAI_API_KEY: 'sk secret\nx: y' }],
  ])('is not a key that may be for somebody else: %o', async (env) => {
    const { upstreams, lines, asked } = await look(env, {
      [openAi]: listed('gpt-5'),
      [anthropic]: listed('claude-x'),
    });
    expect(upstreams).toEqual([]);
    expect(asked).toHaveLength(1);
    expect(lines.join()).not.toContain('secret');
  });

  it.each([
    [silent, 'OpenAI by OPENAI_API_KEY: no models, because it did not answer within a second'],
    [
      { kind: 'refused', status: 401 } as const,
      'OpenAI by OPENAI_API_KEY: no models, because it answered with 401',
    ],
    [listed('whisper-1'), 'OpenAI by OPENAI_API_KEY: no models, because it lists none'],
  ])('is told when a vendor lists nothing: %o', async (answer, line) => {
    const { upstreams, lines } = await look({ OPENAI_API_KEY: 'sk-secret' }, { [openAi]: answer });
    expect({ upstreams, lines }).toEqual({ upstreams: [], lines: [line] });
  });

  it('is bounded', async () => {
    const many = Array.from({ length: 400 }, (_, at) => `gpt-${at}`);
    const { upstreams } = await look({ OPENAI_API_KEY: 'sk-secret' }, { [openAi]: listed(...many) });
    expect(upstreams[0]?.models).toHaveLength(50);
  });
});
