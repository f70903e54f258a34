import { defaultReadsPerMinute, type KeySettings } from '@sluice/config';

/** The settings in use that this release accepts and does not act on yet, by their paths in the file. */
export function unusedSettings({ keys }: { keys: readonly KeySettings[] }): string[] {
  const hasReadLimit = keys.some(({ limits }) => limits.readsPerMinute !== defaultReadsPerMinute);
  return hasReadLimit ? ['keys[].limits.readsPerMinute'] : [];
}
