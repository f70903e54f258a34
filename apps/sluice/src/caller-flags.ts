import { readVariable } from '@sluice/config';
import { findDevelopmentKey } from '@sluice/tenants';
import { badUsage } from './command-flags.ts';
import { ApiClient } from './api-client.ts';
import { serviceSources, type ServiceValues, type Surroundings } from './service-sources.ts';
import { serviceUrl } from './service-url.ts';

/** The flags of a command that asks a service as its clients do. */
export const callerFlags = {
  url: { type: 'string' },
  key: { type: 'string' },
  config: { type: 'string' },
  'data-dir': { type: 'string' },
} as const;

export const callerFlagsUsage = `The service on this machine, and its development key, are looked up with its settings:

  --config FILE    its file of settings [SLUICE_CONFIG, ./sluice.yaml, the one it runs on]
  --data-dir DIR   its data folder [DATA_DIR, the one of its file, ./.data]`;

export interface CallerValues extends ServiceValues {
  url?: string | undefined;
  key?: string | undefined;
}

/**
 * A client of the service that the flags, the environment or the data folder name.
 *
 * @throws {FatalError} with exit code 2 when there is no key.
 */
export async function callerOf(
  command: string,
  values: CallerValues,
  { path, ...surroundings }: Surroundings & { path: '/v1' | '/v1/responses' },
): Promise<ApiClient> {
  const sources = serviceSources(values, surroundings);
  const url = values.url ?? serviceUrl(sources);
  const named = values.key ?? readVariable(surroundings.env, 'SLUICE_API_KEY');
  if (named !== undefined) return new ApiClient({ url, path, key: named, isDevelopmentKey: false });
  const key = await findDevelopmentKey(sources);
  if (key === undefined) throw badUsage(command, 'an API key is missing: set SLUICE_API_KEY or give --key');
  return new ApiClient({ url, path, key, isDevelopmentKey: true });
}
