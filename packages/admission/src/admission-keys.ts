/**
 * The keys of admission's counts, in the cell with this prefix. The fragments reach the others from `load`, because a script
 * learns tenant and queue from a record.
 */
export interface AdmissionKeys {
  /** Hash: weights of waiting responses, in all (`all`) and by tenant (`tenant:<name>`); see `weightOf`. */
  readonly load: string;
  /** Hash: sixty one-second buckets of a tenant's accepted requests, their sum, and the second of the last one. */
  requestRate(tenant: string): string;
  /** The same of tokens, reserved or used. */
  tokenRate(tenant: string): string;
  /** Hash: what a tenant, or a key by its stored name, has taken in a day and a month; see budgets.lua. */
  budget(of: 'tenant' | 'key', name: string): string;
  /** Hash: how many bytes of a tenant are in the store, by when they go; see held-bytes.lua. */
  held(tenant: string): string;
  /** Sorted set: the order of a queue; see fair-queue.lua. */
  fair(queue: string): string;
  /** Set: queues whose priorities have gone far from their base. */
  readonly far: string;
  /** Set: responses of a tenant that run, where it may only run so many; see places.lua. */
  running(tenant: string): string;
}

export function admissionKeys(prefix: string): AdmissionKeys {
  return {
    load: `${prefix}load`,
    requestRate: (tenant) => `${prefix}rate:requests:${tenant}`,
    tokenRate: (tenant) => `${prefix}rate:tokens:${tenant}`,
    budget: (of, name) => `${prefix}budget:${of}:${name}`,
    held: (tenant) => `${prefix}held:${tenant}`,
    fair: (queue) => `${prefix}fair:${queue}`,
    far: `${prefix}far`,
    running: (tenant) => `${prefix}running:${tenant}`,
  };
}
