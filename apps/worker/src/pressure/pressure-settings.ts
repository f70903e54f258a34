import { missingVariable, type ProviderSettings, serversOf, type Settings } from '@sluice/config';
import type { ModelRoute } from '../model-routes.ts';
import { serverKey } from '../servers/server-pool.ts';
import type { PressureSettings } from './route-pressure.ts';
import type { SaturationSettings } from './saturation-watch.ts';

/**
 * Reads the settings of each provider: the pressure by its id, the saturation by its id or by the keys of its servers, and the variable
 * with its key that this process lacks by its id. A provider on this machine has none, because it refuses no call.
 */
export function pressureOf({ providers }: Pick<Settings, 'providers'>): {
  pressure: Map<string, PressureSettings>;
  saturation: Map<string, SaturationSettings>;
  missing: Map<string, string>;
} {
  const pressure = new Map<string, PressureSettings>();
  const saturation = new Map<string, SaturationSettings>();
  const missing = new Map<string, string>();
  for (const provider of providers) {
    const variable = missingVariable(provider);
    if (variable !== undefined) missing.set(provider.id, variable);
    if (!('pressure' in provider)) continue;
    pressure.set(provider.id, provider.pressure);
    if ('saturation' in provider && provider.saturation) {
      for (const { address, settings } of serversOf(provider)) {
        if (!settings.saturation) continue;
        const headers = metricsHeaders(settings, settings.saturation.metricsUrl);
        const key = address === undefined ? provider.id : serverKey(provider.id, address);
        saturation.set(key, { ...settings.saturation, headers });
      }
    }
  }
  return { pressure, saturation, missing };
}

type Upstream = Extract<ProviderSettings, { baseUrl: string }>;

/** Credentials go to the host that they are for, and to no other. */
export function metricsHeaders(
  { baseUrl, apiKey, headers }: Pick<Upstream, 'baseUrl' | 'apiKey' | 'headers'>,
  metricsUrl: string,
): Record<string, string> {
  if (new URL(baseUrl).origin !== new URL(metricsUrl).origin) return {};
  return { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers };
}

/** Calls of a route that one worker can have in flight: the slots of every queue with a model that has this route. */
export function slotsOf(
  { models, workerConcurrency }: Pick<Settings, 'models' | 'workerConcurrency'>,
  route: ModelRoute,
): number {
  const queues = new Map<string, number>();
  for (const { queue, concurrency = workerConcurrency, routes } of models) {
    const isRouted = routes.some(
      ({ provider, model }) => provider === route.provider.id && model === route.model,
    );
    if (isRouted) queues.set(queue, Math.min(concurrency, workerConcurrency));
  }
  return Math.max(
    1,
    [...queues.values()].reduce((sum, slots) => sum + slots, 0),
  );
}
