import { everybody, RecentTenants } from './recent-tenants.ts';

/** For how long a tenant whose call was refused obeys what refusals have led to, in milliseconds. */
const rememberedMs = 60_000;

interface Limited {
  calledAt: number;
  refusedAt: number;
}

/**
 * Who has to obey what the refusals of a route have led to: those tenants whose own calls were refused lately, and every
 * tenant once calls of `everybody` were. So the calls that one tenant has refused hold back nobody else.
 *
 * A tenant that alone calls the route is all the traffic there is, and obeys for as long as that lasts.
 */
export class LimitedTenants {
  readonly #tenants = new RecentTenants<Limited>();
  readonly #now: () => number;
  #lastRefusedAt = Number.NEGATIVE_INFINITY;

  constructor({ now }: { now: () => number }) {
    this.#now = now;
  }

  called(tenant: string): void {
    const refusedAt = this.#tenants.get(tenant)?.refusedAt ?? Number.NEGATIVE_INFINITY;
    this.#tenants.set(tenant, { calledAt: this.#now(), refusedAt });
  }

  refused(tenant: string): void {
    const refusedAt = this.#now();
    this.#lastRefusedAt = refusedAt;
    this.#tenants.set(tenant, { calledAt: this.#tenants.get(tenant)?.calledAt ?? refusedAt, refusedAt });
  }

  /** Whether so many were refused lately that every tenant obeys. */
  get isEverybody(): boolean {
    const since = this.#now() - rememberedMs;
    if (this.#lastRefusedAt < since) return false;
    let refused = 0;
    for (const { refusedAt } of this.#tenants.values()) if (refusedAt >= since) refused += 1;
    return refused >= everybody;
  }

  /** Whether a tenant obeys; a stranger, of whom nothing is known, where none is named. */
  includes(tenant: string | undefined): boolean {
    if (this.#lastRefusedAt === Number.NEGATIVE_INFINITY) return false;
    if (this.isEverybody) return true;
    const since = this.#now() - rememberedMs;
    const known = tenant === undefined ? undefined : this.#tenants.get(tenant);
    if (!known || known.refusedAt === Number.NEGATIVE_INFINITY) return false;
    return known.refusedAt >= since || this.#isAlone(tenant, since);
  }

  /** A tenant that obeys, if all that called lately do; undefined if another may call. */
  get spokesman(): string | undefined {
    const since = this.#now() - rememberedMs;
    let found: string | undefined;
    for (const [tenant, { calledAt }] of this.#tenants.entries()) {
      if (calledAt < since) continue;
      if (!this.includes(tenant)) return undefined;
      found = tenant;
    }
    return found;
  }

  #isAlone(tenant: string | undefined, since: number): boolean {
    for (const [other, { calledAt }] of this.#tenants.entries()) {
      if (other !== tenant && calledAt >= since) return false;
    }
    return true;
  }
}
