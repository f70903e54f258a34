import { z } from 'zod';
import { formatPath } from './config-error.ts';
import type { Role } from './environment-variables.ts';
import type { Explanation } from './explain-issue.ts';
import { hashKey } from './key-schema.ts';
import { checkListeners } from './listener-checks.ts';
import { checkFiles } from './file-checks.ts';
import { checkServers } from './server-checks.ts';
import { suggestName } from './nearest-name.ts';
import { checkDiscovery, checkPressure } from './provider-checks.ts';
import { checkRecovery } from './recovery-checks.ts';
import { limitDefaults } from './settings-schema.ts';
import { parsedOnce } from './value-schemas.ts';

const word = z.string().optional().catch(undefined);
const count = z.number().optional().catch(undefined);
const words = z.array(word).optional().catch(undefined);
const list = <T extends z.ZodType>(item: T) => z.array(item).optional().catch(undefined);

/**
 * The part of the settings that the checks below need. An invalid value reads as absent, so that rules between settings
 * are checked, and reported together with problems of single settings.
 */
const outlineSchema = z.object({
  server: z
    .object({
      host: word,
      port: count,
      adminHost: word,
      adminPort: count,
      adminToken: word,
      adminActionToken: word,
    })
    .optional()
    .catch(undefined),
  redisUrl: word,
  providers: list(
    z
      .object({
        id: word,
        type: word,
        baseUrl: word,
        replicas: words,
        resolve: z.boolean().optional().catch(undefined),
        saturation: z.object({ metricsUrl: word }).optional().catch(undefined),
        apiKey: word,
        discover: z.boolean().optional().catch(undefined),
        discovery: z.unknown().optional(),
        headers: z.record(z.string(), z.unknown()).optional().catch(undefined),
        pressure: z
          .object({ adaptive: z.boolean().optional().catch(undefined), latencyTolerance: count })
          .optional()
          .catch(undefined),
      })
      .catch({}),
  ),
  models: list(
    z
      .object({
        id: word,
        queue: word,
        concurrency: count,
        contextTokens: count,
        maxOutputTokens: count,
        hostedTools: words,
        routes: list(z.object({ provider: word }).catch({})),
      })
      .catch({}),
  ),
  keys: list(
    z
      .object({
        name: word,
        key: z.unknown().optional(),
        hash: z.unknown().optional(),
        models: words,
        weight: count,
        limits: z.record(z.string(), z.unknown()).optional().catch(undefined),
      })
      .catch({}),
  ),
  files: z
    .object({
      bytes: count,
      folder: word,
      bucket: z.object({ accessKeyId: word, secretAccessKey: word }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  limits: z.object({ bodyBytes: count, bodyBytesInFlight: count }).optional().catch(undefined),
  recovery: z
    .object({
      lockMs: count,
      stalledMs: count,
      breaker: z.object({ openMs: count, longestOpenMs: count }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});

type Outline = z.output<typeof outlineSchema>;

/** Checks the rules between settings. Accepts any data, valid or not. */
export function crossCheck(data: unknown, role: Role): Explanation[] {
  const outline = outlineSchema.safeParse(data, parsedOnce).data;
  if (outline === undefined) return [];
  return [
    ...checkStore(outline, role),
    ...(role === 'worker' ? [] : checkListeners(outline.server ?? {})),
    ...checkProviders(outline),
    ...checkPressure(outline),
    ...checkDiscovery(outline),
    ...(outline.providers ?? []).flatMap(checkServers),
    ...checkModels(outline),
    ...checkKeys(outline),
    ...checkTenants(outline),
    ...checkLimits(outline),
    ...checkFiles(outline.files ?? {}),
    ...checkRecovery(outline.recovery ?? {}),
  ];
}

function checkStore({ redisUrl }: Outline, role: Role): Explanation[] {
  if (role === 'start' || redisUrl !== undefined) return [];
  const message = `the ${role} role needs a store it shares with the others; set REDIS_URL`;
  return [{ path: ['redisUrl'], message }];
}

function checkProviders({ providers = [] }: Outline): Explanation[] {
  const found = duplicates('providers', providers);
  for (const [index, { apiKey, headers = {} }] of providers.entries()) {
    const name = Object.keys(headers).find((header) => header.toLowerCase() === 'authorization');
    if (apiKey === undefined || name === undefined) continue;
    const message = 'says the same as `apiKey`; keep one of the two';
    found.push({ path: ['providers', index, 'headers', name], message });
  }
  return found;
}

/** The rules between models, and between a model and the providers. */
export function checkModels({
  providers = [],
  models = [],
}: Pick<Outline, 'providers' | 'models'>): Explanation[] {
  const found = duplicates('models', models);
  const known = providers.map(({ id }) => id).filter((id) => id !== undefined);
  const simulators = new Set(providers.filter(({ type }) => type === 'simulator').map(({ id }) => id));
  const concurrencies = new Map<string, { value: number; index: number }>();
  for (const [index, model] of models.entries()) {
    for (const [position, { provider }] of (model.routes ?? []).entries()) {
      if (provider === undefined) continue;
      const path = ['models', index, 'routes', position, 'provider'];
      if (!known.includes(provider)) {
        found.push({
          path,
          message: `"${provider}" is not the id of a provider; ${suggestName(provider, known)}`,
        });
      } else if (position > 0 && simulators.has(provider)) {
        found.push({
          path,
          message: `"${provider}" is a simulator, which is never a fallback; remove this route`,
        });
      }
    }
    found.push(...checkHostedTools(model, { index, providers }));
    const { id, queue = id, concurrency, contextTokens, maxOutputTokens } = model;
    if (contextTokens !== undefined && maxOutputTokens !== undefined && maxOutputTokens > contextTokens) {
      found.push({
        path: ['models', index, 'maxOutputTokens'],
        message: 'is more than `contextTokens`; lower it',
      });
    }
    if (queue === undefined || concurrency === undefined) continue;
    const first = concurrencies.get(queue);
    if (first === undefined) concurrencies.set(queue, { value: concurrency, index });
    else if (first.value !== concurrency) {
      const other = formatPath(['models', first.index]);
      const message = `differs from ${other}, which is in the same queue; give both one value`;
      found.push({ path: ['models', index, 'concurrency'], message });
    }
  }
  return found;
}

/** A route that does not pass a tool on would answer without it, and nobody would know. */
function checkHostedTools(
  { hostedTools = [], routes = [] }: NonNullable<Outline['models']>[number],
  { index, providers }: { index: number; providers: NonNullable<Outline['providers']> },
): Explanation[] {
  if (hostedTools.length === 0) return [];
  const other = routes.find(({ provider }) =>
    providers.some(({ id, type }) => id === provider && type !== 'openai-responses'),
  );
  if (!other) return [];
  const message = `are passed on to providers of type openai-responses alone, and "${other.provider}" is none; remove them or this route`;
  return [{ path: ['models', index, 'hostedTools'], message }];
}

function checkKeys({ keys = [], models = [], providers = [] }: Outline): Explanation[] {
  const found: Explanation[] = [];
  const ofFile = models.map(({ id }) => id).filter((id) => id !== undefined);
  const known = providers.some(({ discover }) => discover) ? undefined : ofFile;
  const hashes = new Map<string, number>();
  for (const [index, { key, hash, models: allowed = [] }] of keys.entries()) {
    const path = ['keys', index];
    if ((key === undefined) === (hash === undefined)) {
      found.push({ path, message: 'needs one of `key` and `hash`, and not both' });
    }
    const digest = digestOf(key, hash);
    const first = digest === undefined ? undefined : hashes.get(digest);
    if (first !== undefined) {
      found.push({ path, message: `is the same key as ${formatPath(['keys', first])}; remove one` });
    } else if (digest !== undefined) hashes.set(digest, index);
    for (const [position, model] of allowed.entries()) {
      const message = model === undefined ? undefined : faultOfAllowedModel(model, known);
      if (message !== undefined) found.push({ path: [...path, 'models', position], message });
    }
  }
  return found;
}

/**
 * The problem of a model that a key may use; undefined when there is such a model.
 *
 * @param known undefined where any model may be discovered.
 */
export function faultOfAllowedModel(model: string, known: readonly string[] | undefined): string | undefined {
  if (model === '*' || known === undefined || known.includes(model)) return undefined;
  return `"${model}" is not the id of a model of the settings file; ${suggestName(model, known)}`;
}

function digestOf(key: unknown, hash: unknown): string | undefined {
  if (typeof key === 'string') return hashKey(key);
  return typeof hash === 'string' ? hash.replace(/^sha256:/, '').toLowerCase() : undefined;
}

/** Limits and weight belong to the tenant: a key may leave them out, but must not contradict another key. */
function checkTenants({ keys = [] }: Outline): Explanation[] {
  const found: Explanation[] = [];
  const given = new Map<string, { value: unknown; index: number }>();
  for (const [index, { name, weight, limits = {} }] of keys.entries()) {
    if (name === undefined) continue;
    const own: [path: string[], value: unknown][] = Object.entries(limits).map(([limit, value]) => [
      ['limits', limit],
      value,
    ]);
    if (weight !== undefined) own.push([['weight'], weight]);
    for (const [path, value] of own) {
      const subject = JSON.stringify([name, path]);
      const first = given.get(subject);
      if (first === undefined) given.set(subject, { value, index });
      else if (first.value !== value) {
        const other = formatPath(['keys', first.index, ...path]);
        const message = `differs from ${other}, but both keys belong to "${name}"; give both one value`;
        found.push({ path: ['keys', index, ...path], message });
      }
    }
  }
  return found;
}

/** A tenant may use half of the bytes in flight, so a larger body would always be refused. */
function checkLimits({ limits = {} }: Outline): Explanation[] {
  const { bodyBytes = limitDefaults.bodyBytes, bodyBytesInFlight = limitDefaults.bodyBytesInFlight } = limits;
  if (bodyBytesInFlight >= 2 * bodyBytes) return [];
  const message = `is less than twice \`bodyBytes\` (${bodyBytes}); make it larger`;
  return [{ path: ['limits', 'bodyBytesInFlight'], message }];
}

function duplicates(section: string, entries: readonly { id?: string | undefined }[]): Explanation[] {
  const found: Explanation[] = [];
  const first = new Map<string, number>();
  for (const [index, { id }] of entries.entries()) {
    if (id === undefined) continue;
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, index);
    else {
      const other = formatPath([section, earlier]);
      found.push({
        path: [section, index, 'id'],
        message: `"${id}" is also the id of ${other}; choose another`,
      });
    }
  }
  return found;
}
