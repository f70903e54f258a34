/** BullMQ's job name: the dashboard shows it; nothing depends on it. */
export const jobName = 'response';

/** The queue of a model. BullMQ refuses colons in a name; encoding the model's id is reversible. */
export function queueName(modelId: string): string {
  return encodeURIComponent(modelId);
}

/** Where BullMQ keeps its keys, beside ours under one prefix. */
export function queuePrefix(keyPrefix: string): string {
  return `${keyPrefix}bull`;
}
