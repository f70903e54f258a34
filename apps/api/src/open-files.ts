import type { Settings } from '@sluice/config';
import { Files, openFileStore } from '@sluice/files';
import type { Logger } from '@sluice/runtime';

/** The files of tenants by the settings; undefined where they are switched off. */
export function openFiles(settings: Pick<Settings, 'files' | 'dataDir'>, logger: Logger): Files | undefined {
  if (!settings.files.enabled) return undefined;
  return new Files({ store: openFileStore(settings, logger), limits: settings.files, logger });
}
