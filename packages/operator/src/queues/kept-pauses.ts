import { QueueKeeper, type QueueKeeperOptions, type ResponseQueues } from '@sluice/queue';
import { type Logger, throttledWarning } from '@sluice/runtime';
import type { Audit } from '../audit/audit.ts';
import type { OperatorQueuesOptions } from './operator-queues.ts';

export interface KeptPausesOptions
  extends Pick<QueueKeeperOptions, 'connection'>,
    Pick<OperatorQueuesOptions, 'onQueueSwitched'> {
  /** Starts every key of the cell. */
  keyPrefix: string;
  queue: Pick<ResponseQueues, 'pausedNames' | 'pause'>;
  audit: Pick<Audit, 'perform'>;
  logger: Logger;
}

/**
 * When the store was emptied under this process, pauses the queues again that an operator had paused: nobody has asked to resume them.
 * The audit log and the log of the process say so.
 */
export function keptPauses({
  queue,
  audit,
  onQueueSwitched,
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
        onQueueSwitched({ queue: target, isPaused: true });
      }
    },
    onError: throttledWarning(logger, 'queues not paused again').warn,
  });
}
