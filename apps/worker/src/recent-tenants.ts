/** This many tenants count as everybody: when calls of as many fail in the same way, the upstream is the cause. */
export const everybody = 3;

/** Most tenants that a route remembers. It forgets the one first that has not called for longest. */
const mostRemembered = 256;

/** Keeps a value for each tenant that called a route lately, for a bounded number of them. */
export class RecentTenants<Known> {
  readonly #known = new Map<string, Known>();

  get size(): number {
    return this.#known.size;
  }

  get(tenant: string): Known | undefined {
    return this.#known.get(tenant);
  }

  /** Sets the value of a tenant, which becomes the latest. */
  set(tenant: string, known: Known): void {
    this.#known.delete(tenant);
    this.#known.set(tenant, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostRemembered && oldest !== undefined) this.#known.delete(oldest);
  }

  delete(tenant: string): void {
    this.#known.delete(tenant);
  }

  entries(): IterableIterator<[string, Known]> {
    return this.#known.entries();
  }

  values(): IterableIterator<Known> {
    return this.#known.values();
  }
}
