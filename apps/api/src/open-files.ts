import { join, resolve } from 'node:path';
import type { Settings } from '@sluice/config';
import { Files } from '@sluice/files';
import type { Logger } from '@sluice/runtime';

/** The files of tenants by the settings; undefined where they are switched off. */
export function openFiles(
  { files, dataDir }: Pick<Settings, 'files' | 'dataDir'>,
  logger: Logger,
): Files | undefined {
  if (!files.enabled) return undefined;
  const folder = files.folder === undefined ? join(dataDir, 'files') : resolve(files.folder);
  return new Files({ folder, limits: files, logger });
}
