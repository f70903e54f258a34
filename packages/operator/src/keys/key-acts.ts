import type { ChangedTenant, IssuedKey, RevokedKey, TenantLimitsChange } from '@sluice/contract/admin';
import type { Asker, Audit } from '../audit/audit.ts';
import type { StoredKeyChanges, WantedKey } from './stored-key-changes.ts';

/** An id as keys have it, or the name of the development key. Anything else may be a key itself, which is not written down. */
const keyId = /^(key_[0-9A-Za-z]{1,60}|file:\d{1,6}|development)$/;

/** Changes of keys, each with its entries in the audit log. */
export class KeyActs {
  readonly #changes: Pick<StoredKeyChanges, 'create' | 'revoke' | 'limit'>;
  readonly #audit: Pick<Audit, 'perform'>;

  constructor({
    changes,
    audit,
  }: {
    changes: Pick<StoredKeyChanges, 'create' | 'revoke' | 'limit'>;
    audit: Pick<Audit, 'perform'>;
  }) {
    this.#changes = changes;
    this.#audit = audit;
  }

  create(wanted: WantedKey, asker: Asker): Promise<IssuedKey> {
    const act = { action: 'key.create', target: wanted.tenant, ...asker };
    return this.#audit.perform(
      act,
      () => this.#changes.create(wanted),
      ({ id }) => id,
    );
  }

  revoke(id: string, asker: Asker): Promise<RevokedKey> {
    const act = { action: 'key.revoke', target: keyId.test(id) ? id : 'not the id of a key', ...asker };
    return this.#audit.perform(
      act,
      () => this.#changes.revoke(id),
      ({ tenant }) => tenant,
    );
  }

  limit(tenant: string, change: TenantLimitsChange, asker: Asker): Promise<ChangedTenant> {
    const act = { action: 'tenant.limit', target: tenant, ...asker };
    return this.#audit.perform(
      act,
      () => this.#changes.limit(tenant, change),
      () => changeWords(change),
    );
  }
}

/** A change for the audit log, such as `weight 2, concurrent none`. */
function changeWords({ weight, limits }: TenantLimitsChange): string {
  const said = Object.entries({ ...(weight !== undefined && { weight }), ...limits });
  return said.map(([name, value]) => `${name} ${value ?? 'none'}`).join(', ');
}
