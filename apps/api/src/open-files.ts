import type { Settings } from '@sluice/config';
import { Files, type FilesOptions, openFileStore } from '@sluice/files';

/** The files of tenants by the settings; undefined where they are switched off. */
export function openFiles(
  settings: Pick<Settings, 'files' | 'dataDir'>,
  { now, logger }: Pick<FilesOptions, 'now' | 'logger'>,
): Files | undefined {
  if (!settings.files.enabled) return undefined;
  return new Files({ store: openFileStore(settings, logger), limits: settings.files, now, logger });
}
