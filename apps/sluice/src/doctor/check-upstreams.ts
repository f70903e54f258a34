import { missingVariable, type ProviderSettings, serversOf, type Settings } from '@sluice/config';
import { faultOfProvider, type LlamaCppSettings, missingOnThisMachine } from '@sluice/providers';
import { bad, type Finding, good, warn } from './finding.ts';

/** How long an upstream may take to list its models, in milliseconds. */
const withinMs = 5_000;

type Upstream = Extract<ProviderSettings, { baseUrl: string }>;

/**
 * Asks each upstream, and each of the `replicas` of one, for its models: that costs nothing, and shows whether it is there and
 * takes our key. Looks for the metric that says how many wait there, where one is configured. Looks whether the package of a provider is installed.
 */
export async function checkUpstreams({
  providers,
  models,
}: Pick<Settings, 'providers' | 'models'>): Promise<Finding[]> {
  if (models.length === 0)
    return [warn('models', 'there are none: add `models` to the settings file, or store some')];
  const findings = await Promise.all(
    providers.map(async (provider) => {
      switch (provider.type) {
        case 'simulator':
          return [good(provider.id, 'is a simulator, which answers without a model')];
        case 'ai-sdk':
          return [await checkPackage(provider)];
        case 'llama-cpp':
          return [await checkMachine(provider)];
        case 'openai-chat':
        case 'openai-responses':
          return checkServers(provider, modelsOf(provider.id, models));
      }
    }),
  );
  return findings.flat();
}

/** Checks each server of a provider by itself: one that is down or lacks a model is easily missed beside the others. */
async function checkServers(provider: Upstream, wanted: readonly string[]): Promise<Finding[]> {
  const variable = missingVariable(provider);
  if (variable !== undefined)
    return [warn(provider.id, `was not asked: its key is in ${variable}, which is not set here`)];
  const findings = serversOf(provider).flatMap(({ address, settings }) => {
    const server = { ...settings, id: address === undefined ? provider.id : `${provider.id} at ${address}` };
    return [
      checkUpstream(server, wanted),
      ...(server.saturation ? [checkMetrics(server, server.saturation)] : []),
    ];
  });
  return Promise.all(findings);
}

/** A vendor's package has no common way to list its models, so nothing is sent. */
async function checkPackage(provider: Extract<ProviderSettings, { type: 'ai-sdk' }>): Promise<Finding> {
  const fault = await faultOfProvider(provider);
  if (fault !== undefined) return bad(provider.id, fault);
  return good(provider.id, `has its package ${provider.package}; its key and its models were not checked`);
}

/** The model is not loaded: that may take minutes, and memory that the service needs. */
async function checkMachine(provider: LlamaCppSettings): Promise<Finding> {
  const missing = await missingOnThisMachine(provider);
  return missing === undefined
    ? good(provider.id, `has its package and ${provider.modelPath}`)
    : bad(provider.id, missing);
}

/** A metric that cannot be read is nothing bad: work is not held back then. */
async function checkMetrics(
  { id, baseUrl, apiKey, headers }: Upstream,
  { metricsUrl: url, metric, most }: NonNullable<Upstream['saturation']>,
): Promise<Finding> {
  const isSameHost = new URL(url).origin === new URL(baseUrl).origin;
  const credentials = { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers };
  try {
    const answer = await fetch(url, {
      headers: isSameHost ? credentials : {},
      redirect: 'error',
      signal: AbortSignal.timeout(withinMs),
    });
    if (!answer.ok) {
      await answer.body?.cancel();
      return warn(
        id,
        `${url} answers with ${answer.status}, so no work is held back: correct \`metricsUrl\``,
      );
    }
    const page = await answer.text();
    const isThere = page
      .split('\n')
      .some((line) => line.startsWith(metric) && /^[{\s]/.test(line.slice(metric.length)));
    return isThere
      ? good(id, `tells ${metric} at ${url}; work is held back above ${most}`)
      : warn(id, `has no ${metric} at ${url}, so no work is held back: correct \`metric\` or \`metricsUrl\``);
  } catch (error) {
    return warn(id, `${url} does not answer (${causeOf(error)}), so no work is held back`);
  }
}

async function checkUpstream(
  { id, baseUrl, apiKey, headers }: Upstream,
  wanted: readonly string[],
): Promise<Finding> {
  const url = `${baseUrl.replace(/\/+$/, '')}/models`;
  let answer: Response;
  try {
    answer = await fetch(url, {
      headers: { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers },
      redirect: 'error',
      signal: AbortSignal.timeout(withinMs),
    });
  } catch (error) {
    return bad(id, `${url} does not answer (${causeOf(error)}): start it, or correct \`baseUrl\``);
  }
  const text = await answer.text().catch(() => '');
  if (answer.status === 401 || answer.status === 403) {
    return bad(id, `${url} refuses our key with ${answer.status}: correct \`apiKey\` or \`headers\``);
  }
  if (answer.status >= 500) return bad(id, `${url} answers with ${answer.status}`);
  const offered = offeredBy(text);
  if (!answer.ok || !offered)
    return warn(id, `answers, but lists no models at ${url} (${answer.status}), so they were not checked`);
  const missing = wanted.filter((model) => !offered.includes(model));
  if (missing.length === 0)
    return good(id, `answers, takes our key, and has ${wanted.join(', ') || 'no model of ours'}`);
  return warn(
    id,
    `does not list ${missing.join(', ')}: correct \`model\` in the routes. It has ${offered.slice(0, 10).join(', ')}`,
  );
}

/** Its names of the models that are routed to it. */
function modelsOf(providerId: string, models: Settings['models']): string[] {
  const routes = models.flatMap((model) => model.routes).filter(({ provider }) => provider === providerId);
  return [...new Set(routes.map(({ model }) => model))];
}

/** The ids in a list of models as OpenAI's protocol has it; undefined for any other text. */
function offeredBy(text: string): string[] | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: unknown };
    if (!Array.isArray(data)) return undefined;
    return data.flatMap((each: unknown) =>
      typeof each === 'object' && each !== null && 'id' in each && typeof each.id === 'string'
        ? [each.id]
        : [],
    );
  } catch {
    return undefined;
  }
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
