import { QueueKeeper, type QueueKeeperOptions, type ResponseQueue } from '@sluice/queue';
import { type Logger, type TelemetryEvents, throttledWarning } from '@sluice/runtime';
import type { Audit } from './audit.ts';

export interface KeptPausesOptions extends Pick<QueueKeeperOptions, 'connection'> {
  /** Starts every key of the cell. */
  keyPrefix: string;
  queue: Pick<ResponseQueue, 'pausedNames' | 'pause'>;
  audit: Pick<Audit, 'perform'>;
  /** Told of each queue that is paused again. */
  onPaused: (paused: TelemetryEvents['queue.paused']) => void;
  logger: Logger;
}

/**
 * Pauses again what an operator had paused when the store was emptied under this process. He asked that nothing of these queues runs, and has
 * not asked for anything else since. The audit log and the log of the process say so.
 */
export function keptPauses({
  queue,
  audit,
  onPaused,
  logger,
  connection,
  keyPrefix,
}: KeptPausesOptions): QueueKeeper {
  return new QueueKeeper({
    connection,
    key: `${keyPrefix}store-mark:api`,
    queues: queue,
    putBack: async (paused) => {
      const queues = paused.map(decodeURIComponent);
      logger.warn(
        { paused: queues },
        'the store was emptied: what was accepted is lost, and what was paused is paused again',
      );
      for (const [at, name] of paused.entries()) {
        const target = queues[at] ?? name;
        const act = { action: 'queue.pause', target, address: 'this service' };
        await audit.perform(
          act,
          () => queue.pause(name),
          () => 'paused again: the store was emptied',
        );
        onPaused({ queue: target, isPaused: true });
      }
    },
    onError: throttledWarning(logger, 'queues not paused again').warn,
  });
}
