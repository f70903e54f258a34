import type { Pool } from 'undici';
import { modelName } from './no-op-answer.ts';

const model = modelName({ tokens: 1, intervalMs: 0 });

/** Gets the text of one answer. Its cost is the least that a worker can do. */
export async function callUpstream(upstream: Pool, prompt: string): Promise<string> {
  const { statusCode, body } = await upstream.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: prompt }], stream: true }),
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`the upstream answered ${statusCode}`);
  return text.split('\n').map(contentOf).join('');
}

function contentOf(line: string): string {
  if (!line.startsWith('data: {')) return '';
  // The format of this benchmark's upstream.
  const chunk = JSON.parse(line.slice(6)) as { choices: { delta: { content?: string } }[] };
  return chunk.choices[0]?.delta.content ?? '';
}
