/** So many tenants are everybody: when calls of as many fail in the same way, it is the upstream's doing. */
export const everybody = 3;

/** Most tenants that are remembered of a route. Who has not called for longest is forgotten first. */
const mostRemembered = 256;

/** What is known of each tenant that called a route lately, at most of so many. */
export class RecentTenants<Known> {
  readonly #known = new Map<string, Known>();

  get size(): number {
    return this.#known.size;
  }

  get(tenant: string): Known | undefined {
    return this.#known.get(tenant);
  }

  /** The latest comes last. */
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
