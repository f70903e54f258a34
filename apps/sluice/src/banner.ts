import type { RunningStore } from '@sluice/embedded-store';
import { maskRedisUrl } from '@sluice/runtime';

export interface BannerFacts {
  url: string;
  adminUrl: string;
  store: Pick<RunningStore, 'kind' | 'why' | 'url'>;
  models: readonly string[];
  /** Lines that say where models come from that no settings file names. */
  found: readonly string[];
  /** The development key; undefined when it is not taken. */
  plainKey: string | undefined;
  /** The development action token; undefined when the service has one of its own, or nothing can be changed. */
  actionToken: string | undefined;
  workers: number;
}

/** How many models are listed by name. */
const mostModels = 6;

/** The banner of a service that is ready: its addresses, its store, and a first request to try. */
export function banner({
  url,
  adminUrl,
  store,
  models,
  found,
  plainKey,
  actionToken,
  workers,
}: BannerFacts): string {
  const base = reachable(url);
  const lines = [
    '',
    'Sluice is ready.',
    '',
    `  Console         ${reachable(adminUrl)}/console   see, search and steer responses`,
    `  Responses API   ${base}/v1        for every client of the Responses API`,
    `                  ${base}/api/v1    the same, with object "create_response"`,
    `  Reference       ${base}/docs      every request, answer and event, to read and to try`,
    `  Dashboard       ${reachable(adminUrl)}/queues    the raw jobs`,
    `  Metrics         ${reachable(adminUrl)}/metrics`,
    `  Store           ${storeLine(store)}`,
    `  Workers         ${workers}`,
    `  Models          ${modelLine(models)}`,
    ...found.map((line, at) => `  ${at === 0 ? 'Found' : '     '}           ${line}`),
    `  Key             ${plainKey ?? "one of those that 'sluice keys list' shows; 'sluice keys create' makes one"}`,
    ...(actionToken === undefined ? [] : [`  Action token    ${actionToken}`]),
    '',
    'Try it:',
    '',
    ...(plainKey === undefined ? withoutKey(base) : []),
    `  curl ${base}/v1/responses \\`,
    `    -H "Authorization: Bearer ${plainKey ?? '$SLUICE_API_KEY'}" \\`,
    '    -H "Content-Type: application/json" \\',
    `    -d '{"model": "${models[0] ?? ''}", "input": "Hello!"}'`,
    '',
    'Ctrl-C stops it.',
    '',
  ];
  return lines.join('\n');
}

/** Keys of others cannot be shown, because only their hashes are kept. */
function withoutKey(base: string): string[] {
  return [`  curl ${base}/readyz`, '', 'And with a key in SLUICE_API_KEY:', ''];
}

function storeLine({ kind, why, url }: BannerFacts['store']): string {
  switch (kind) {
    case 'external':
      return `${maskRedisUrl(url)} (${why})`;
    case 'server':
      return `a server of its own at ${maskRedisUrl(url)}, with an append-only log (${why})`;
    case 'embedded':
      return `embedded, for trying things out: a crash may lose its last seconds (${why}); at ${maskRedisUrl(url)}`;
  }
}

function modelLine(models: readonly string[]): string {
  const shown = models.slice(0, mostModels).join(', ');
  const hidden = models.length - mostModels;
  return hidden > 0 ? `${shown} and ${hidden} more` : shown;
}

/** An address that can be opened: the wildcard addresses are replaced by loopback. */
export function reachable(url: string): string {
  return url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]');
}
