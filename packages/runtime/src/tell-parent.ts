/**
 * Tells the process that started this one, if it was started with a channel. Does nothing if that process has died or is
 * closing the channel.
 */
export function tellParent(message: object): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}
