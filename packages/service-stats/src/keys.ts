/** Hash: the sums of the minute that begins at a moment; see `add-minute.lua`. */
export function minuteKey(keyPrefix: string, minute: number): string {
  return `${keyPrefix}stats:${minute}`;
}

/** Hash: the sums of a longer time that begins at a moment, without names; see `add-minute.lua`. */
export function historyKey(keyPrefix: string, span: string, at: number): string {
  return `${keyPrefix}stats:${span}:${at}`;
}

/** Sorted set: ids of processes, scored by when they were heard of, in milliseconds. */
export function processesKey(keyPrefix: string): string {
  return `${keyPrefix}processes`;
}

/** String: what a process says of itself, as JSON. */
export function processKey(keyPrefix: string, id: string): string {
  return `${keyPrefix}process:${id}`;
}

/** Sorted set: ids of processes that have not signed off, scored by when they were heard of; see `keep-will.lua`. */
export function heardKey(keyPrefix: string): string {
  return `${keyPrefix}processes:heard`;
}

/** Hash: what is told of a process once it is silent, as JSON, by id. */
export function willsKey(keyPrefix: string): string {
  return `${keyPrefix}processes:wills`;
}
