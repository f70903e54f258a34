import { defaultReadsPerMinute, type Settings } from '@sluice/config';

/** The settings in use that this release accepts and does not act on yet, by their paths in the file. */
export function unusedSettings({ keys, models }: Pick<Settings, 'keys' | 'models'>): string[] {
  const unused = {
    'keys[].limits.tokensPerMinute': keys.some(({ limits }) => limits.tokensPerMinute !== undefined),
    'keys[].limits.concurrent': keys.some(({ limits }) => limits.concurrent !== undefined),
    'keys[].limits.readsPerMinute': keys.some(
      ({ limits }) => limits.readsPerMinute !== defaultReadsPerMinute,
    ),
    'keys[].weight': new Set(keys.map(({ weight }) => weight)).size > 1,
    'keys[].tiers': keys.some(({ tiers }) => tiers.includes('priority')),
    'models[].contextTokens': models.some(({ contextTokens }) => contextTokens !== undefined),
    'models[].maxOutputTokens': models.some(({ maxOutputTokens }) => maxOutputTokens !== undefined),
  };
  return Object.entries(unused).flatMap(([setting, isSet]) => (isSet ? [setting] : []));
}
