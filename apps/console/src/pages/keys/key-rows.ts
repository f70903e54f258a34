import type { KeyReport } from '@sluice/contract/admin';
import type { UrlSearch } from '../../components/use-filters.ts';

export const stateWords: Record<KeyReport['state'], string> = {
  active: 'Active',
  expired: 'Expired',
  revoked: 'Revoked',
  disabled: 'Disabled',
};

/** The keys that match the filters of the address: active ones first, then the newest. */
export function keyRows(keys: readonly KeyReport[], filters: UrlSearch): KeyReport[] {
  const { q, tenant, state } = filters;
  const wanted = (q?.[0] ?? '').trim().toLowerCase();
  const matches = (key: KeyReport) =>
    (tenant === undefined || tenant.includes(key.tenant)) &&
    (state === undefined || state.includes(key.state)) &&
    [key.tenant, key.id, key.ends_with].some((text) => text?.toLowerCase().includes(wanted));
  const rank = ({ state: each }: KeyReport) => (each === 'active' ? 0 : 1);
  return keys.filter(matches).toSorted((one, other) => rank(one) - rank(other) || ageOf(one) - ageOf(other));
}

/** A value to filter by. */
export interface KeyOption {
  value: string;
  label?: string;
  count: number;
}

/** The values of a field with how many keys have them, most first. */
export function keyOptions(keys: readonly KeyReport[], field: 'tenant' | 'state'): KeyOption[] {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key[field], (counts.get(key[field]) ?? 0) + 1);
  return [...counts]
    .toSorted(([one, many], [other, more]) => more - many || one.localeCompare(other))
    .map(([value, count]) => ({ value, count, ...(field === 'state' && { label: wordOf(value) }) }));
}

function wordOf(state: string): string {
  return stateWords[state as KeyReport['state']] ?? state; // A later service may know more of them.
}

/** Keys of the settings file have no age, and come first. */
function ageOf({ created_at: at }: KeyReport): number {
  return at === null ? Number.NEGATIVE_INFINITY : -at;
}
