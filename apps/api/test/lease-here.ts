import { type Lease, ProcessLease } from '@sluice/response-store';
import { closeRedis, commandClient, createLogger, waitForRedis } from '@sluice/runtime';

/** The first connection is waited for this long, in milliseconds. */
const connectWithinMs = 2_000;

/**
 * The lease of an api process in the thread of its test, over a connection of its own. The thread that holds it otherwise loads its
 * sources anew for each api, which takes more processor time than all else of a start.
 */
export function leaseHere(keys: readonly string[], redisUrl: string): Lease {
  let stopHolding = () => Promise.resolve();
  return {
    async start() {
      const logger = createLogger({ name: 'api', level: 'silent' });
      const commands = commandClient(redisUrl, { logger, connectionName: 'sluice-lease' });
      const lease = new ProcessLease({ commands, keys, onError: () => undefined });
      stopHolding = async () => {
        await lease.stop();
        await closeRedis(commands);
      };
      await waitForRedis(commands, AbortSignal.timeout(connectWithinMs)).catch(() => undefined);
      await lease.start();
    },
    stop: () => stopHolding(),
  };
}
