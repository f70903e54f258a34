import type { BenchService } from '../service.ts';

/** A batch that runs. */
export interface BatchOfLines {
  service: BenchService;
  id: string;
  status(): Promise<string>;
  /** How many of its lines have ended well. */
  completed(): Promise<number>;
}

/** The answers of a batch. */
export interface EndedBatch {
  lines: number;
  /** Lines with an id of their own. */
  distinct: number;
  outputTokens: number;
}

/** Uploads a file with short requests, and makes a batch of it. */
export async function startBatch(
  service: BenchService,
  { lines, model }: { lines: number; model: string },
): Promise<BatchOfLines> {
  const content = Array.from({ length: lines }, (_, at) =>
    JSON.stringify({
      custom_id: `line-${at}`,
      method: 'POST',
      url: '/v1/responses',
      body: { model, input: `Describe thing number ${at} in a few words.` },
    }),
  ).join('\n');
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([content]), 'lines.jsonl');
  const file = await ask(service, '/files', { method: 'POST', body: form });
  const { id = '' } = await ask(service, '/batches', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      input_file_id: file.id,
      endpoint: '/v1/responses',
      completion_window: '24h',
    }),
  });
  const read = () => ask(service, `/batches/${id}`);
  return {
    service,
    id,
    status: async () => String((await read()).status),
    completed: async () => (await read()).request_counts?.completed ?? 0,
  };
}

/** The answers of a batch that has ended. */
export async function endedBatch({ service, id }: BatchOfLines): Promise<EndedBatch> {
  const { output_file_id: file } = await ask(service, `/batches/${id}`);
  const answer = await fetch(`${service.url}/v1/files/${file}/content`, { headers: headersOf(service) });
  const lines = (await answer.text()).trimEnd().split('\n');
  const results = lines.map((line) => JSON.parse(line) as ResultLine);
  return {
    lines: lines.length,
    distinct: new Set(results.map(({ custom_id: customId }) => customId)).size,
    outputTokens: results.reduce((sum, { response }) => sum + response.body.usage.output_tokens, 0),
  };
}

/** Output tokens of the last day, by the usage of the service. */
export async function usedTokens(service: BenchService): Promise<number> {
  const since = Math.floor(Date.now() / 1_000) - 86_400;
  const { data = [] } = await ask(
    service,
    `/organization/usage/completions?start_time=${since}&bucket_width=1d&limit=31`,
  );
  return data.flatMap(({ results }) => results).reduce((sum, { output_tokens: tokens }) => sum + tokens, 0);
}

interface ResultLine {
  custom_id: string;
  response: { body: { usage: { output_tokens: number } } };
}

/** The members of any answer that are read here. */
interface AnyAnswer {
  id?: string;
  status?: string;
  request_counts?: { completed: number };
  output_file_id?: string;
  data?: { results: { output_tokens: number }[] }[];
}

const headersOf = ({ key }: BenchService) => ({ authorization: `Bearer ${key}` });

async function ask(service: BenchService, path: string, init: RequestInit = {}): Promise<AnyAnswer> {
  const headers = { ...headersOf(service), ...(init.headers as Record<string, string>) }; // a plain object, here
  const answer = await fetch(`${service.url}/v1${path}`, { ...init, headers });
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as AnyAnswer;
}
