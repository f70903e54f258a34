import { type KeySettings, stateOfKey, type StoredKey } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { KeyList, KeyPageQuery, KeyReport } from '@sluice/contract/admin';
import type { ReportSources } from './report-sources.ts';

/**
 * A page of keys: those in effect first, of the file and then the newest. Nothing of a key itself is in it.
 *
 * Rejects while the stored keys are not known.
 */
export function keyRows({ keys, now }: Pick<ReportSources, 'keys' | 'now'>, query: KeyPageQuery): KeyList {
  const { file, stored, revokedAt } = keys.known;
  if (stored === undefined) {
    throw new ServiceError('server_is_overloaded', 'The stored keys are not known yet. Please try again.');
  }
  const { offset, limit } = query;
  const at = now();
  const reports = function* () {
    for (const key of file) yield ofFile(key, at);
    for (let each = stored.length - 1; each >= 0; each -= 1) {
      const key = stored[each];
      if (key) yield ofStored(key, revokedAt(key), at);
    }
  };
  // Keys that are no longer in effect are looked through only when those in effect do not fill the page.
  const inOrder = function* () {
    for (const key of reports()) if (isInEffect(key) && isWanted(key, query)) yield key;
    for (const key of reports()) if (!isInEffect(key) && isWanted(key, query)) yield key;
  };
  const data: KeyReport[] = [];
  let passed = 0;
  for (const key of inOrder()) {
    passed += 1;
    if (passed > offset) data.push(key);
    if (data.length > limit) break;
  }
  const hasMore = data.length > limit;
  return { object: 'list', data: data.slice(0, limit), has_more: hasMore };
}

const isInEffect = ({ state }: KeyReport) => state === 'active';

function isWanted(key: KeyReport, { q = '', tenant, state }: KeyPageQuery): boolean {
  if (tenant !== undefined && !tenant.includes(key.tenant)) return false;
  if (state !== undefined && !state.includes(key.state)) return false;
  const wanted = q.trim().toLowerCase();
  return (
    wanted === '' || [key.tenant, key.id, key.ends_with].some((text) => text?.toLowerCase().includes(wanted))
  );
}

function ofFile({ name, models, expiresAt, disabled }: KeySettings, now: number): KeyReport {
  return {
    id: null,
    tenant: name,
    ends_with: null,
    origin: 'file',
    state: disabled ? 'disabled' : stateOfKey(expiresAt === undefined ? {} : { expiresAt }, now),
    created_at: null,
    expires_at: momentOf(expiresAt),
    revoked_at: null,
    models,
  };
}

function ofStored(key: StoredKey, revokedAt: string | undefined, now: number): KeyReport {
  return {
    id: key.id,
    tenant: key.name,
    ends_with: key.last4,
    origin: 'stored',
    state: stateOfKey({ ...key, ...(revokedAt !== undefined && { revokedAt }) }, now),
    created_at: momentOf(key.createdAt),
    expires_at: momentOf(key.expiresAt),
    revoked_at: momentOf(revokedAt),
    models: key.models,
  };
}

function momentOf(time: string | undefined): number | null {
  return time === undefined ? null : Date.parse(time);
}
