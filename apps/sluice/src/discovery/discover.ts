import {
  type Environment,
  isLoopback,
  loadSettings,
  type Settings,
  type SettingsSources,
} from '@sluice/config';
import type { Logger } from '@sluice/runtime';
import { writeDiscoveredSettings } from './discovered-settings.ts';
import { findUpstreams } from './find-upstreams.ts';

/** The settings that a service runs on, and the lines of the banner that say where they come from. */
export interface Discovered {
  settings: Settings;
  /** Variables for the processes of the service, so that all of them read the same file. */
  env: Environment;
  lines: string[];
}

/**
 * The settings of a service without a settings file: the given ones, and the upstreams that are plainly there. With a file,
 * beyond loopback, or with `discover` off, it looks for nothing. It leaves out upstreams that cannot be used, and never
 * rejects.
 */
export async function discover(
  given: Settings,
  { sources, signal, logger }: { sources: SettingsSources; signal: AbortSignal; logger: Logger },
): Promise<Discovered> {
  const asGiven: Discovered = { settings: given, env: {}, lines: [] };
  // Beyond loopback others would use the operator's key of a vendor, which the operator has not decided.
  if (given.file !== undefined || given.discover === 'off' || !isLoopback(given.server.host)) return asGiven;
  // Most services have a file, and start without it.
  const { faultOfProvider, listModels } = await import('@sluice/providers');
  const { upstreams, lines } = await findUpstreams({
    env: sources.env,
    list: listModels,
    faultOfPackage: (name) => faultOfProvider({ type: 'ai-sdk', id: name, package: name }),
    signal,
  });
  if (upstreams.length === 0) return { ...asGiven, lines };
  try {
    const file = await writeDiscoveredSettings(given.dataDir, upstreams);
    const env = { SLUICE_CONFIG: file };
    const settings = loadSettings({ ...sources, env: { ...sources.env, ...env } });
    return { settings, env, lines: [...lines, `as ${file} says; SLUICE_DISCOVER=off starts without`] };
  } catch (error) {
    logger.warn({ err: error }, 'the upstreams that were found cannot be used');
    return asGiven;
  }
}
