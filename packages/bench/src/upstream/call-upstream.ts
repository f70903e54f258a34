import type { Pool } from 'undici';
import { modelName } from './no-op-answer.ts';

const oneToken = modelName({ tokens: 1, intervalMs: 0 });

/** Gets the text of one answer. Its cost is the least that a worker can do. */
export async function callUpstream(upstream: Pool, prompt: string): Promise<string> {
  const body = await askUpstream(upstream, oneToken, prompt);
  return (await body.text()).split('\n').map(contentOf).join('');
}

/** The bytes of an answer as they come, read by nobody. */
export async function* streamUpstream(
  upstream: Pool,
  { model, prompt }: { model: string; prompt: string },
): AsyncGenerator<string> {
  for await (const chunk of await askUpstream(upstream, model, prompt)) {
    yield (chunk as Buffer).toString('latin1'); // the answers are ASCII
  }
}

async function askUpstream(upstream: Pool, model: string, prompt: string) {
  const { statusCode, body } = await upstream.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: prompt }], stream: true }),
  });
  if (statusCode !== 200) throw new Error(`the upstream answered ${statusCode}`);
  return body;
}

function contentOf(line: string): string {
  if (!line.startsWith('data: {')) return '';
  // The format of this benchmark's upstream.
  const chunk = JSON.parse(line.slice(6)) as { choices: { delta: { content?: string } }[] };
  return chunk.choices[0]?.delta.content ?? '';
}
