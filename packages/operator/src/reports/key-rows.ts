import { setImmediate as breathe } from 'node:timers/promises';
import type { KeySettings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { KeyList, KeyPageQuery, KeyReport } from '@sluice/contract/admin';
import { stateOfKey, type StoredKey } from '@sluice/tenants';
import type { ReportSources } from './report-sources.ts';

/** Keys that are looked at before others of this process have their turn. */
const step = 2_000;

/** A key as the filters of a page look at it; it becomes a row when the page has it. */
interface SeenKey {
  tenant: string;
  id: string | null;
  endsWith: string | null;
  state: KeyReport['state'];
  report: () => KeyReport;
}

/**
 * A page of keys: those in effect first, of the file and then the newest. Nothing of a key itself is in it. There may be a hundred
 * thousand, so it is made in steps.
 *
 * Rejects while the stored keys are not known.
 */
export async function keyRows(
  { keys, now }: Pick<ReportSources, 'keys' | 'now'>,
  query: KeyPageQuery,
): Promise<KeyList> {
  const { file, stored, revokedAt } = keys.known;
  if (stored === undefined) {
    throw new ServiceError('server_is_overloaded', 'The stored keys are not known yet. Please try again.');
  }
  const at = now();
  const seen = function* () {
    for (const key of file) yield ofFile(key, at);
    for (let each = stored.length - 1; each >= 0; each -= 1) {
      const key = stored[each];
      if (key) yield ofStored(key, revokedAt(key), at);
    }
  };
  const isWanted = wantedBy(query);
  const most = query.offset + query.limit + 1;
  const inEffect: SeenKey[] = [];
  const others: SeenKey[] = [];
  let looked = 0;
  for (const key of seen()) {
    looked += 1;
    if (looked % step === 0) await breathe();
    if (!isWanted(key)) continue;
    const group = key.state === 'active' ? inEffect : others;
    if (group.length < most) group.push(key);
    // Keys that are no longer in effect come behind all that are.
    if (inEffect.length === most) break;
  }
  const found = [...inEffect, ...others].slice(query.offset, most);
  const data = found.slice(0, query.limit).map(({ report }) => report());
  return { object: 'list', data, has_more: found.length > query.limit };
}

function wantedBy({ q = '', tenant, state }: KeyPageQuery): (key: SeenKey) => boolean {
  const text = q.trim().toLowerCase();
  const hasText = (part: string | null) => part?.toLowerCase().includes(text) ?? false;
  return (key) => {
    if (tenant !== undefined && !tenant.includes(key.tenant)) return false;
    if (state !== undefined && !state.includes(key.state)) return false;
    return text === '' || hasText(key.tenant) || hasText(key.id) || hasText(key.endsWith);
  };
}

function ofFile({ name, models, expiresAt, disabled }: KeySettings, now: number): SeenKey {
  const state = disabled ? 'disabled' : stateOfKey(expiresAt === undefined ? {} : { expiresAt }, now);
  const report = (): KeyReport => ({
    id: null,
    tenant: name,
    ends_with: null,
    origin: 'file',
    state,
    created_at: null,
    expires_at: momentOf(expiresAt),
    revoked_at: null,
    models,
  });
  return { tenant: name, id: null, endsWith: null, state, report };
}

function ofStored(key: StoredKey, revokedAt: string | undefined, now: number): SeenKey {
  const { id, name: tenant, last4: endsWith } = key;
  const state = revokedAt === undefined ? stateOfKey(key, now) : 'revoked';
  const report = (): KeyReport => ({
    id,
    tenant,
    ends_with: endsWith,
    origin: 'stored',
    state,
    created_at: momentOf(key.createdAt),
    expires_at: momentOf(key.expiresAt),
    revoked_at: momentOf(revokedAt),
    models: key.models,
  });
  return { tenant, id, endsWith, state, report };
}

function momentOf(time: string | undefined): number | null {
  return time === undefined ? null : Date.parse(time);
}
