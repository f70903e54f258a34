import { type Environment, readVariable } from '@sluice/config';
import type { ListedModel, ListModels, ModelList } from '@sluice/providers';

/** An upstream that is plainly there, as entries of a settings file. No value holds a key: variables are named. */
export interface FoundUpstream {
  provider: { id: string; type: string } & Record<string, unknown>;
  /** Names of its models. They share the queue that is named after the provider. */
  models: string[];
  /** Most requests at a time; absent where the upstream sets the pace. */
  concurrency?: number;
}

export interface Discovery {
  upstreams: FoundUpstream[];
  /** A line for the operator on each upstream that was found, or that would be there. No line holds a key. */
  lines: string[];
}

export interface Surroundings {
  env: Environment;
  list: ListModels;
  /** Why a package cannot be used; undefined when it can. */
  faultOfPackage: (name: string) => Promise<string | undefined>;
  signal?: AbortSignal;
}

/** A vendor answers in this time, or its models are not offered, in milliseconds. */
const vendorMs = 1000;
/** An upstream on this machine, in milliseconds. One that is not there says so at once; a busy machine may be slow. */
const localMs = 2000;
/** How many models of one upstream are offered at most. */
const mostModels = 50;

/**
 * Looks for upstreams that need no settings: a vendor whose key is in the environment, and an Ollama on this machine. Takes
 * two seconds at most and never rejects. A key is sent to its vendor's own host and to no other.
 */
export async function findUpstreams(surroundings: Surroundings): Promise<Discovery> {
  const found = await Promise.all([
    findOpenAi(surroundings),
    findAnthropic(surroundings),
    findOllama(surroundings),
  ]);
  return {
    upstreams: found.flatMap(({ upstreams }) => upstreams),
    lines: found.flatMap(({ lines }) => lines),
  };
}

const nothing: Discovery = { upstreams: [], lines: [] };
const remark = (line: string): Discovery => ({ upstreams: [], lines: [line] });

async function findOpenAi({ env, list, signal }: Surroundings): Promise<Discovery> {
  const key = keyOf(env, 'OPENAI_API_KEY');
  if (key === undefined) return nothing;
  if (!isForHost(env, 'OPENAI_BASE_URL', 'api.openai.com')) {
    return remark('OPENAI_API_KEY is left alone: OPENAI_BASE_URL names another host than that of OpenAI');
  }
  const baseUrl = 'https://api.openai.com/v1';
  const listed = await list({
    url: `${baseUrl}/models`,
    headers: { authorization: `Bearer ${key}` },
    withinMs: vendorMs,
    ...(signal && { signal }),
  });
  const newestFirst = modelsOf(listed)
    .filter(({ id }) => isTextModelOfOpenAi(id))
    .toSorted((one, other) => other.created - one.created);
  // The variable is named in the file, and read by the processes that need it.
  const provider = { id: 'openai', type: 'openai-responses', baseUrl, apiKey: '${OPENAI_API_KEY}' };
  return foundVendor('OpenAI', 'OPENAI_API_KEY', provider, { listed, models: newestFirst });
}

async function findAnthropic({ env, list, faultOfPackage, signal }: Surroundings): Promise<Discovery> {
  const key = keyOf(env, 'ANTHROPIC_API_KEY');
  if (key === undefined) return nothing;
  if (!isForHost(env, 'ANTHROPIC_BASE_URL', 'api.anthropic.com')) {
    return remark(
      'ANTHROPIC_API_KEY is left alone: ANTHROPIC_BASE_URL names another host than that of Anthropic',
    );
  }
  const name = '@ai-sdk/anthropic';
  if ((await faultOfPackage(name)) !== undefined) {
    return remark(`Anthropic by ANTHROPIC_API_KEY, once its package is there: npm install ${name}`);
  }
  const baseURL = 'https://api.anthropic.com/v1';
  const listed = await list({
    url: `${baseURL}/models?limit=${mostModels}`,
    headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
    withinMs: vendorMs,
    ...(signal && { signal }),
  });
  const models = modelsOf(listed).filter(({ id }) => id.startsWith('claude-'));
  const provider = {
    id: 'anthropic',
    type: 'ai-sdk',
    package: name,
    options: { apiKey: '${ANTHROPIC_API_KEY}', baseURL },
  };
  return foundVendor('Anthropic', 'ANTHROPIC_API_KEY', provider, { listed, models });
}

async function findOllama({ list, signal }: Surroundings): Promise<Discovery> {
  const baseUrl = 'http://127.0.0.1:11434/v1';
  const listed = await list({ url: `${baseUrl}/models`, withinMs: localMs, ...(signal && { signal }) });
  const models = modelsOf(listed)
    .filter(({ id }) => !/embed/i.test(id))
    .slice(0, mostModels)
    .map(({ id }) => id);
  if (models.length === 0) return nothing;
  // Loading a model takes time, and more requests than Ollama runs at once would only wait there.
  const provider = { id: 'ollama', type: 'openai-chat', baseUrl, firstTokenMs: 300_000 };
  return {
    upstreams: [{ provider, models, concurrency: 4 }],
    lines: [`Ollama at 127.0.0.1:11434: ${count(models)}`],
  };
}

function foundVendor(
  vendor: string,
  variable: string,
  provider: FoundUpstream['provider'],
  { listed, models }: { listed: ModelList; models: readonly ListedModel[] },
): Discovery {
  const ids = models.slice(0, mostModels).map(({ id }) => id);
  if (ids.length > 0) {
    return { upstreams: [{ provider, models: ids }], lines: [`${vendor} by ${variable}: ${count(ids)}`] };
  }
  const why =
    listed.kind === 'silent'
      ? 'it did not answer within a second'
      : listed.kind === 'refused'
        ? `it answered with ${listed.status}`
        : 'it lists none';
  return remark(`${vendor} by ${variable}: no models, because ${why}`);
}

/** A key that can be sent and is not one of Sluice: clients of Sluice have that in the same variable. */
function keyOf(env: Environment, variable: string): string | undefined {
  const key = readVariable(env, variable);
  return key !== undefined && /^[\x21-\x7e]+$/.test(key) && !key.startsWith('sk-sluice-') ? key : undefined;
}

/** Whether the variable with a client's address is not set, or names the vendor: the key may be for that address. */
function isForHost(env: Environment, variable: string, host: string): boolean {
  const address = readVariable(env, variable);
  return address === undefined || URL.parse(address)?.host === host;
}

function modelsOf(listed: ModelList): ListedModel[] {
  return listed.kind === 'listed' ? listed.models : [];
}

/** OpenAI lists all that it has. Dated snapshots are left out, because their names without a date are there, too. */
function isTextModelOfOpenAi(id: string): boolean {
  const isText = /^(?:gpt-|o\d|chatgpt-)/.test(id);
  const isOther = /audio|realtime|tts|transcribe|translate|image|search|instruct|deep-research|live/.test(id);
  return isText && !isOther && !/-\d{4}(?:-\d{2}-\d{2})?(?:-preview)?$/.test(id);
}

function count({ length }: readonly string[]): string {
  return length === 1 ? '1 model' : `${length} models`;
}
