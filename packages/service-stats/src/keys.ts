/** Hash: the sums of the minute that begins at a moment; see `add-minute.lua`. */
export function minuteKey(keyPrefix: string, minute: number): string {
  return `${keyPrefix}stats:${minute}`;
}

/** Hash: the sums of a longer time that begins at a moment, without names; see `add-minute.lua`. */
export function historyKey(keyPrefix: string, span: string, at: number): string {
  return `${keyPrefix}stats:${span}:${at}`;
}

/** Sorted set: ids of processes, scored by the time of their last report, in milliseconds. */
export function processesKey(keyPrefix: string): string {
  return `${keyPrefix}processes`;
}

/** String: the report of a process, as JSON. */
export function processKey(keyPrefix: string, id: string): string {
  return `${keyPrefix}process:${id}`;
}

/** Sorted set: ids of processes that have not signed off, scored by the time of their last report; see `keep-will.lua`. */
export function heardKey(keyPrefix: string): string {
  return `${keyPrefix}processes:heard`;
}

/** Hash: the wills of processes, as JSON, by id. A will is shown once its process is silent. */
export function willsKey(keyPrefix: string): string {
  return `${keyPrefix}processes:wills`;
}
