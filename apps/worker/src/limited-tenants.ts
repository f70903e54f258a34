import { everybody, RecentTenants } from './recent-tenants.ts';

/** How long a tenant obeys the limits of a route after a refusal of its own, in milliseconds. */
const rememberedMs = 60_000;

interface Limited {
  calledAt: number;
  refusedAt: number;
}

/**
 * Knows which tenants obey the pace and the limit that refusals have set for a route. A tenant obeys after a refusal of its
 * own, and every tenant obeys once `everybody` was refused. So the refusals of one tenant hold back nobody else.
 *
 * A tenant that was refused and that alone calls the route is all of its traffic. It obeys for as long as that lasts.
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

  /** Whether enough tenants were refused lately for every tenant to obey. */
  get isEverybody(): boolean {
    const since = this.#now() - rememberedMs;
    if (this.#lastRefusedAt < since) return false;
    let refused = 0;
    for (const { refusedAt } of this.#tenants.values()) if (refusedAt >= since) refused += 1;
    return refused >= everybody;
  }

  /** Whether a tenant obeys. Undefined stands for a tenant that has not called yet. */
  includes(tenant: string | undefined): boolean {
    if (this.#lastRefusedAt === Number.NEGATIVE_INFINITY) return false;
    if (this.isEverybody) return true;
    const since = this.#now() - rememberedMs;
    const known = tenant === undefined ? undefined : this.#tenants.get(tenant);
    if (!known || known.refusedAt === Number.NEGATIVE_INFINITY) return false;
    return known.refusedAt >= since || this.#isAlone(tenant, since);
  }

  /** Any tenant that obeys, if every tenant with recent calls does; undefined if another may call. */
  get spokesman(): string | undefined {
    return this.isSomebodyFree ? undefined : this.#recent().at(-1);
  }

  /** Whether a tenant with recent calls does not obey. */
  get isSomebodyFree(): boolean {
    return this.#recent().some((tenant) => !this.includes(tenant));
  }

  /** The tenants with recent calls, the latest last. */
  #recent(): string[] {
    const since = this.#now() - rememberedMs;
    return [...this.#tenants.entries()].flatMap(([tenant, { calledAt }]) =>
      calledAt >= since ? [tenant] : [],
    );
  }

  #isAlone(tenant: string | undefined, since: number): boolean {
    for (const [other, { calledAt }] of this.#tenants.entries()) {
      if (other !== tenant && calledAt >= since) return false;
    }
    return true;
  }
}
