import { serverAddress } from './server-checks.ts';
import type { ProviderSettings } from './settings.ts';

type Upstream = Extract<ProviderSettings, { baseUrl: string }>;

/** One server of a provider: the settings of the provider as if it were the only one. */
export interface ServerSettings {
  /** Tells it from the other servers of the provider; undefined for a provider without `replicas`. */
  address: string | undefined;
  settings: Upstream;
}

/** Each server of a provider that is listed in its settings. The metrics of a replica are read at its own host. */
export function serversOf(provider: Upstream): ServerSettings[] {
  const { replicas, ...settings } = provider;
  if (!replicas) return [{ address: undefined, settings: provider }];
  return replicas.map((baseUrl) => {
    const { saturation } = settings;
    const metricsUrl = saturation && new URL(new URL(saturation.metricsUrl).pathname, baseUrl).href;
    const own = saturation && {
      saturation: { ...saturation, metricsUrl: metricsUrl ?? saturation.metricsUrl },
    };
    return { address: serverAddress(baseUrl), settings: { ...settings, baseUrl, ...own } };
  });
}
