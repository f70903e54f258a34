import { eventually } from '@sluice/testing';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { linesOfJson } from './sluice-process.ts';

type Endpoint = OpenAI.BatchCreateParams['endpoint'];

/** A line of the input. */
export const lineOf = (customId: string, body: object, endpoint: Endpoint = '/v1/responses') =>
  JSON.stringify({ custom_id: customId, method: 'POST', url: endpoint, body });

/** Uploads lines, and makes a batch of them. */
export async function started(
  client: OpenAI,
  lines: readonly string[],
  more: Partial<OpenAI.BatchCreateParams> = {},
): Promise<OpenAI.Batch> {
  const file = await toFile(Buffer.from(`${lines.join('\n')}\n`), 'in.jsonl');
  const { id } = await client.files.create({ file, purpose: 'batch' });
  const asked = { input_file_id: id, endpoint: '/v1/responses', completion_window: '24h' } as const;
  return client.batches.create({ ...asked, ...more });
}

/** The batch when it has ended. */
export async function ended(client: OpenAI, { id }: OpenAI.Batch): Promise<OpenAI.Batch> {
  return eventually(async () => {
    const batch = await client.batches.retrieve(id);
    return ['completed', 'failed', 'cancelled', 'expired'].includes(batch.status) && batch;
  });
}

export interface Result {
  custom_id: string;
  response: { status_code: number; body: Record<string, unknown> } | null;
  error: { code: string } | null;
}

export async function resultsIn(client: OpenAI, fileId: string | null | undefined): Promise<Result[]> {
  if (!fileId) return [];
  return linesOfJson(await (await client.files.content(fileId)).text());
}
