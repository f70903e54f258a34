import { ProcessLease } from '@sluice/response-store';
import { closeRedis, commandClient, waitForRedis } from '@sluice/runtime';
import { parentPort, workerData } from 'node:worker_threads';

/** The data with which `LeaseThread` starts its thread. */
export interface LeaseThreadData {
  redisUrl: string;
  keys: readonly string[];
  /** How long the event loop of the process may be silent before the process counts as stuck, in milliseconds. */
  silentMs: number;
  ttlMs?: number;
}

/** A message to the thread: the event loop of the process runs, or the lease is to be given up. */
export type LeaseOrder = 'alive' | 'stop';

/** A message from the thread. */
export type LeaseReport = { kind: 'held' } | { kind: 'failed'; error: unknown };

/** The first connection is waited for this long: the process has just seen that the store answers. */
const connectWithinMs = 2_000;

// Holds the lease of an api process over a connection of its own, beside the event loop that serves requests. It ends
// with the process, however that ends, and with its lease.
const { redisUrl, keys, silentMs, ttlMs } = workerData as LeaseThreadData; // as `LeaseThread` gives it
const report = (message: LeaseReport) => parentPort?.postMessage(message);
let heardAt = performance.now();
const commands = commandClient(redisUrl, {
  logger: undefined, // the process itself says when the store is away
  connectionName: 'sluice-lease',
});
const lease = new ProcessLease({
  ...(ttlMs !== undefined && { ttlMs }),
  commands,
  keys,
  isAlive: () => performance.now() - heardAt < silentMs,
  onError: (error) => report({ kind: 'failed', error }),
});

parentPort?.on('message', (order: LeaseOrder) => {
  heardAt = performance.now();
  if (order === 'stop') void stop();
});
await waitForRedis(commands, AbortSignal.timeout(connectWithinMs)).catch(() => undefined);
await lease.start();
report({ kind: 'held' });

async function stop(): Promise<void> {
  await lease.stop();
  await closeRedis(commands);
  parentPort?.close();
}
