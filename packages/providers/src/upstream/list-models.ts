import type { OpenAiChatSettings } from '../openai/chat.ts';

/** A model as an upstream lists it. */
export interface ListedModel {
  id: string;
  /** When it was made, in seconds since 1970; 0 if the upstream does not say. */
  created: number;
}

export type ModelList =
  | { kind: 'listed'; models: ListedModel[] }
  /** It answered with something else. */
  | { kind: 'refused'; status: number }
  /** It did not answer in time, or nobody is there. */
  | { kind: 'silent' };

export interface ListRequest {
  url: string;
  headers?: Record<string, string>;
  /** For the whole answer, in milliseconds. */
  withinMs: number;
  /** Ends the request when the process stops. */
  signal?: AbortSignal;
}

export type ListModels = (request: ListRequest) => Promise<ModelList>;

const largestAnswer = 1024 * 1024;
/** Names that need no escaping in a settings file, and whose encoded form can name a queue. */
const plainName = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/;

/**
 * Asks an upstream for its models, in the protocol of OpenAI and Anthropic. Follows no redirect, so a key in the headers
 * goes to that host alone. Reads a bounded answer, and leaves out names that are not plain. Never rejects.
 */
export const listModels: ListModels = async ({ url, headers = {}, withinMs, signal }) => {
  const deadline = AbortSignal.timeout(withinMs);
  try {
    const answer = await fetch(url, {
      headers,
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
    });
    if (!answer.ok) {
      await answer.body?.cancel();
      return { kind: 'refused', status: answer.status };
    }
    const models = modelsIn(await readText(answer));
    return models ? { kind: 'listed', models } : { kind: 'refused', status: answer.status };
  } catch {
    return { kind: 'silent' };
  }
};

/** How long an upstream of the settings may take to list its models, in milliseconds. */
const upstreamMs = 5_000;

/** Asks an upstream of the settings for its models, with its own key and headers. Never rejects. */
export function listModelsOf(
  { baseUrl, apiKey, headers }: Pick<OpenAiChatSettings, 'baseUrl' | 'apiKey' | 'headers'>,
  signal?: AbortSignal,
): Promise<ModelList> {
  return listModels({
    url: `${baseUrl.replace(/\/+$/, '')}/models`,
    headers: { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers },
    withinMs: upstreamMs,
    ...(signal && { signal }),
  });
}

async function readText(answer: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    bytes += part.length;
    if (bytes > largestAnswer) throw new Error('the list of models is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function modelsIn(text: string): ListedModel[] | undefined {
  const parsed: unknown = JSON.parse(text);
  const data = fieldOf(parsed, 'data');
  if (!Array.isArray(data)) return undefined;
  return data.flatMap((each: unknown) => {
    const id = fieldOf(each, 'id');
    const created = fieldOf(each, 'created');
    if (typeof id !== 'string' || !plainName.test(id)) return [];
    return [{ id, created: typeof created === 'number' ? created : 0 }];
  });
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
