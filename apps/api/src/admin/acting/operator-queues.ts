import { type Settings, suggestName } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { QueueSwitch } from '@sluice/contract/admin';
import { queueName, type ResponseQueue } from '@sluice/queue';
import type { BulkWork } from './bulk-work.ts';
import { cancelWaiting, type Draining, waitingResponses } from './drain-queue.ts';

export interface OperatorQueuesOptions {
  settings: Pick<Settings, 'models'>;
  store: Draining['store'];
  queues: Draining['queues'] & Pick<ResponseQueue, 'pause' | 'resume' | 'backlog'>;
  /** Told of each queue that was paused or resumed here. */
  onQueueSwitched: (switched: { queue: string; isPaused: boolean }) => void;
}

/** What an operator does with whole queues, which have the names of the settings here. */
export class OperatorQueues {
  readonly #options: OperatorQueuesOptions;

  constructor(options: OperatorQueuesOptions) {
    this.#options = options;
  }

  /** Lets no worker take from a queue any more. What runs goes on, and what comes waits. Twice is fine. */
  async pause(queue: string): Promise<QueueSwitch> {
    await this.#options.queues.pause(this.#known(queue));
    this.#options.onQueueSwitched({ queue, isPaused: true });
    return { object: 'queue', queue, paused: true };
  }

  async resume(queue: string): Promise<QueueSwitch> {
    await this.#options.queues.resume(this.#known(queue));
    this.#options.onQueueSwitched({ queue, isPaused: false });
    return { object: 'queue', queue, paused: false };
  }

  /** The work of cancelling all that waits in a queue. What comes while it is done is cancelled, too. */
  async draining(queue: string): Promise<BulkWork> {
    const { store, queues } = this.#options;
    const name = this.#known(queue);
    const { waiting } = await queues.backlog(name);
    return {
      action: 'drain',
      target: queue,
      total: waiting,
      ids: () => waitingResponses({ queues }, name),
      each: (responseId) => cancelWaiting({ store, queues }, name, responseId),
    };
  }

  #known(queue: string): string {
    const names = [...new Set(this.#options.settings.models.map((model) => model.queue))];
    if (names.includes(queue)) return queueName(queue);
    throw new ServiceError(
      'not_found',
      `There is no queue of this name in the settings: ${suggestName(queue, names)}`,
      { param: 'queue' },
    );
  }
}
