/** BullMQ's job name: the dashboard shows it; nothing depends on it. */
export const jobName = 'response';

/**
 * Priority of every job until fairness sets one: the middle of what BullMQ has (1 to 2^21).
 *
 * A job without a priority would overtake all that have one, so none is ever added without.
 */
export const neutralPriority = 2 ** 20;

/** The queue of a model. BullMQ refuses colons in a name; encoding the model's id is reversible. */
export function queueName(modelId: string): string {
  return encodeURIComponent(modelId);
}

/** Where BullMQ keeps its keys, beside ours under one prefix. */
export function queuePrefix(keyPrefix: string): string {
  return `${keyPrefix}bull`;
}
