import { isIP } from 'node:net';
import { formatPath } from './config-error.ts';
import type { Explanation } from './explain-issue.ts';

interface ProviderOutline {
  type?: string | undefined;
  baseUrl?: string | undefined;
  replicas?: readonly (string | undefined)[] | undefined;
  resolve?: boolean | undefined;
  saturation?: { metricsUrl?: string | undefined } | undefined;
}

const typesWithServers: ReadonlySet<string | undefined> = new Set(['openai-chat', 'openai-responses']);

/** Checks which servers a provider has. An invalid setting reads as absent. */
export function checkServers(provider: ProviderOutline, index: number): Explanation[] {
  if (!typesWithServers.has(provider.type)) return [];
  const { baseUrl, replicas, resolve = false, saturation } = provider;
  const path = ['providers', index];
  const found: Explanation[] = [];
  if (baseUrl === undefined && replicas === undefined) {
    const message = 'is missing; give the address of the API, or those of several servers as `replicas`';
    found.push({ path: [...path, 'baseUrl'], message });
  }
  if (replicas !== undefined) {
    if (baseUrl !== undefined) {
      const message = 'stands in place of `baseUrl`; put every server here and remove `baseUrl`';
      found.push({ path: [...path, 'replicas'], message });
    }
    if (resolve) {
      const message = 'finds the servers behind the name in `baseUrl`; remove it, or `replicas`';
      found.push({ path: [...path, 'resolve'], message });
    }
    found.push(...findDuplicates(replicas, [...path, 'replicas']));
    found.push(...checkMetrics(replicas, saturation?.metricsUrl, path));
  } else if (resolve) {
    const host = hostOf(baseUrl);
    if (host !== undefined && isIP(host) !== 0) {
      const message = 'needs a name as the host of `baseUrl`, and there is an address; remove it';
      found.push({ path: [...path, 'resolve'], message });
    }
    if (saturation !== undefined) {
      const message = 'reads one server, and `resolve` finds several; remove one of the two';
      found.push({ path: [...path, 'saturation'], message });
    }
  }
  return found;
}

function findDuplicates(replicas: readonly (string | undefined)[], path: PropertyKey[]): Explanation[] {
  const found: Explanation[] = [];
  const first = new Map<string, number>();
  for (const [at, replica] of replicas.entries()) {
    if (replica === undefined || !URL.canParse(replica)) continue;
    const name = serverAddress(replica);
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, at);
    else {
      const message = `is the same server as ${formatPath([...path, earlier])}; remove one`;
      found.push({ path: [...path, at], message });
    }
  }
  return found;
}

function checkMetrics(
  replicas: readonly (string | undefined)[],
  metricsUrl: string | undefined,
  path: PropertyKey[],
): Explanation[] {
  if (metricsUrl === undefined || !URL.canParse(metricsUrl)) return [];
  const { origin } = new URL(metricsUrl);
  if (replicas.some((replica) => replica === undefined || URL.parse(replica)?.origin === origin)) return [];
  const message =
    'has the host of none of the `replicas`; give that of one, and each is read at its own host';
  return [{ path: [...path, 'saturation', 'metricsUrl'], message }];
}

function hostOf(url: string | undefined): string | undefined {
  const host = url === undefined ? undefined : URL.parse(url)?.hostname;
  return host?.replace(/^\[|\]$/g, '');
}

/** The address of a server in one spelling, without a slash at its end. */
export function serverAddress(url: string): string {
  return new URL(url).href.replace(/\/+$/, '');
}
