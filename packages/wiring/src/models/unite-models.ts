import { type DiscoveringProvider, isDiscovering, type ModelSettings, type Settings } from '@sluice/config';

/** The models that upstreams list now, by the id of their provider. */
export type DiscoveredModels = ReadonlyMap<string, readonly string[]>;

/**
 * The models of the file, and behind them those that upstreams list. A model of the file wins over a discovered one with its id.
 * One that several upstreams list has a route to each, in the order of the providers. Discovered models are in the queue that is
 * named after their first provider.
 */
export function uniteModels(
  { models, providers }: Pick<Settings, 'models' | 'providers'>,
  discovered: DiscoveredModels,
): ModelSettings[] {
  const ofFile = new Set(models.map(({ id }) => id));
  const concurrencies = new Map(models.map(({ queue, concurrency }) => [queue, concurrency]));
  const found = new Map<string, ModelSettings>();
  for (const provider of providers.filter(isDiscovering)) {
    for (const id of discovered.get(provider.id) ?? []) {
      if (ofFile.has(id) || !isOffered(id, provider)) continue;
      const route = { provider: provider.id, model: id };
      const known = found.get(id);
      if (known) {
        known.routes.push(route);
        continue;
      }
      const queue = provider.id;
      const concurrency = concurrencies.has(queue)
        ? concurrencies.get(queue)
        : provider.discovery.concurrency;
      found.set(id, { id, queue, routes: [route], ...(concurrency !== undefined && { concurrency }) });
    }
  }
  return [...models, ...found.values()];
}

/** Whether the settings of a provider let a model of its list be offered. */
function isOffered(id: string, { discovery }: DiscoveringProvider): boolean {
  return discovery.models?.some((pattern) => matches(id, pattern)) ?? true;
}

/** Whether a name is that of a pattern, in which `*` stands for any characters. Takes no longer for a pattern with many of them. */
export function matches(name: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last))
    return false;
  const middle = name.slice(first.length, name.length - last.length);
  let from = 0;
  for (const part of rest) {
    const at = middle.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return true;
}
