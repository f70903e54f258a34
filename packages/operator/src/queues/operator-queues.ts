import { suggestName } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import type { Act, QueueSwitch } from '@sluice/contract/admin';
import { queueName, type ResponseQueues } from '@sluice/queue';
import type { BulkActs } from '../acts/bulk-acts.ts';
import type { Asker, Audit } from '../audit/audit.ts';
import { cancelWaiting, type Draining, waitingResponses } from './drain-queue.ts';

export interface OperatorQueuesOptions {
  store: Draining['store'];
  queue: Draining['queue'] & Pick<ResponseQueues, 'names' | 'pause' | 'resume' | 'backlog'>;
  /** Told of each queue that was paused or resumed. */
  onQueueSwitched: (switched: { queue: string; isPaused: boolean }) => void;
  audit: Pick<Audit, 'perform'>;
  acts: Pick<BulkActs, 'start'>;
}

/** Acts of operators on whole queues that are served, by their names in the settings. Those that models have left are among them. */
export class OperatorQueues {
  readonly #options: OperatorQueuesOptions;

  constructor(options: OperatorQueuesOptions) {
    this.#options = options;
  }

  /** Pauses a queue: workers take no more jobs from it. Running responses go on, and new ones wait. Pausing twice changes nothing. */
  pause(queue: string, asker: Asker): Promise<QueueSwitch> {
    return this.#switch(queue, { isPaused: true, asker });
  }

  /** Lets workers take from a queue again. Twice is fine. */
  resume(queue: string, asker: Asker): Promise<QueueSwitch> {
    return this.#switch(queue, { isPaused: false, asker });
  }

  /**
   * Cancels all that waits in a queue, and what comes meanwhile. Answers with the act at once. `isKnown` says that there is such a queue,
   * where the settings may name it no longer.
   */
  drain(queue: string, asker: Asker, { isKnown = false } = {}): Promise<Act> {
    return this.#options.acts.start({ action: 'queue.drain', target: queue, ...asker }, async () => {
      const name = isKnown ? queueName(queue) : this.#known(queue);
      const { waiting } = await this.#options.queue.backlog(name);
      return {
        action: 'drain',
        target: queue,
        total: waiting,
        ids: () => waitingResponses(this.#options, name),
        each: (responseId) => cancelWaiting(this.#options, name, responseId),
      };
    });
  }

  #switch(queue: string, { isPaused, asker }: { isPaused: boolean; asker: Asker }): Promise<QueueSwitch> {
    const { audit, onQueueSwitched } = this.#options;
    const verb = isPaused ? 'pause' : 'resume';
    return audit.perform({ action: `queue.${verb}`, target: queue, ...asker }, async () => {
      await this.#options.queue[verb](this.#known(queue));
      onQueueSwitched({ queue, isPaused });
      return { object: 'queue', queue, paused: isPaused };
    });
  }

  #known(queue: string): string {
    const { names } = this.#options.queue;
    const name = queueName(queue);
    if (names.includes(name)) return name;
    throw new ServiceError(
      'not_found',
      `There is no queue of this name: ${suggestName(queue, names.map(decodeURIComponent))}`,
      { param: 'queue' },
    );
  }
}
