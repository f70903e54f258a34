/**
 * Every Redis key and channel of a response, spelled in this one place.
 *
 * A lease and the channel of the process that holds it share one name: whoever reads the name in a record can
 * both reach the process and see whether it lives.
 */
export interface RedisKeys {
  readonly prefix: string;
  /** Hash: what was asked for, how far it is, who runs it, who waits for it, how it ended. */
  record(responseId: string): string;
  /** Stream: the events of a streamed response; entry `1-<sequence number>`, field `e` the event's JSON. */
  log(responseId: string): string;
  /** String: an input too large to travel inside the accept script. */
  input(responseId: string): string;
  /** Sorted set: responses without an end, scored by the time of acceptance in milliseconds. */
  readonly open: string;
  /** Hash: how many responses wait, in all (`queued`, `bytes`) and by tenant (`queued:<tenant>`). */
  readonly load: string;
  /** Sorted set: stored responses of a tenant, scored by the time of acceptance in milliseconds. */
  stored(tenant: string): string;
  /** String: the response that a tenant's Idempotency-Key stands for; `keyHash` is a digest of the key. */
  idempotency(tenant: string, keyHash: string): string;
  /** Hash: sixty one-second buckets of a tenant's accepted requests. */
  requestRate(tenant: string): string;
  /** Lease and channel of an api process. */
  apiProcess(processId: string): string;
  /** Channel of a worker process. */
  workerProcess(processId: string): string;
  /** Held by the one process that looks for abandoned responses at the moment. */
  readonly rescueLock: string;
}

export function redisKeys(prefix: string = 'sluice:'): RedisKeys {
  return {
    prefix,
    record: (responseId) => `${prefix}response:${responseId}`,
    log: (responseId) => `${prefix}log:${responseId}`,
    input: (responseId) => `${prefix}input:${responseId}`,
    open: `${prefix}open`,
    load: `${prefix}load`,
    stored: (tenant) => `${prefix}stored:${tenant}`,
    idempotency: (tenant, keyHash) => `${prefix}idempotency:${tenant}:${keyHash}`,
    requestRate: (tenant) => `${prefix}rate:requests:${tenant}`,
    apiProcess: (processId) => `${prefix}api:${processId}`,
    workerProcess: (processId) => `${prefix}worker:${processId}`,
    rescueLock: `${prefix}rescue-lock`,
  };
}
