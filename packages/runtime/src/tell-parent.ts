/**
 * Tells the process that started this one, if it was started with a channel. One that has died, or closes the channel at this moment,
 * need not be told.
 */
export function tellParent(message: object): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}
