import { type KeySettings, stateOfKey, type StoredKey } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { KeyList, KeyReport, TenantPageQuery } from '@sluice/contract/admin';
import type { ReportSources } from './report-sources.ts';

/** A page of keys by their tenants: those of the file, then the stored ones, oldest first. Nothing of a key itself is in it. */
export function keyRows({ keys, now }: Pick<ReportSources, 'keys' | 'now'>, query: TenantPageQuery): KeyList {
  const { file, stored, revokedAt } = keys.known;
  if (stored === undefined) {
    throw new ServiceError('server_is_overloaded', 'The stored keys are not known yet. Please try again.');
  }
  const { q = '', offset, limit } = query;
  const found = [...file, ...stored].filter(({ name }) => name.startsWith(q));
  const at = now();
  return {
    object: 'list',
    data: found
      .slice(offset, offset + limit)
      .map((key) => ('id' in key ? ofStored(key, revokedAt(key), at) : ofFile(key, at))),
    has_more: found.length > offset + limit,
  };
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
