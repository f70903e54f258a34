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

/**
 * Finds the calls of a route that one worker can have in flight: the slots of every queue with a model that has this route. It goes
 * over the models once for all routes, as there may be thousands of both. A route that no model has is called by responses that
 * began with it: by all that the worker runs of a queue, perhaps.
 */
export function slotsOf({
  models,
  workerConcurrency,
}: Pick<Settings, 'models' | 'workerConcurrency'>): (route: ModelRoute) => number {
  const slotsOfQueues = new Map<string, Map<string, number>>();
  for (const { queue, concurrency = workerConcurrency, routes } of models) {
    for (const { provider, model } of routes) {
      const key = routeKey(provider, model);
      const ofRoute = slotsOfQueues.get(key) ?? new Map<string, number>();
      slotsOfQueues.set(key, ofRoute.set(queue, Math.min(concurrency, workerConcurrency)));
    }
  }
  const slots = new Map(
    [...slotsOfQueues].map(([key, ofRoute]) => [
      key,
      [...ofRoute.values()].reduce((sum, each) => sum + each, 0),
    ]),
  );
  return ({ provider, model }) => slots.get(routeKey(provider.id, model)) ?? workerConcurrency;
}

function routeKey(providerId: string, model: string): string {
  return `${providerId} ${model}`;
}
