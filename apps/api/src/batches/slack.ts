import { setTimeout } from 'node:timers/promises';
import { throttledWarning, type Logger } from '@sluice/runtime';

export interface SlackOptions {
  /** How many responses of a queue can run at a time, over all workers. */
  capacityOf: (queue: string) => Promise<number>;
  /** How many responses of a queue wait for a worker or run. */
  openIn: (queue: string) => Promise<number>;
  logger: Logger;
  /** How often it looks, in milliseconds; a second by default. */
  everyMs?: number;
}

/** How many looks are remembered: a minute of them. */
const remembered = 60;

/** The share of looks in which others find as many places as they had open. A look counts a response that ends at that moment, so the most of all is too many. */
const covered = 0.9;

/** The part of a queue that stays free beside what others were seen to need, for those that come next: a tenth. */
const spare = 0.1;

interface QueueState {
  /** The lines of batches that may run. */
  own: number;
  /** Those that wait until they may. */
  waiting: Set<() => void>;
  /** How many responses of others were open at each of the last looks. */
  others: number[];
  /** How many lines may run at a time; one before the first look. */
  most: number;
}

/**
 * Lets lines of batches have what other responses leave free of a queue: all that can run at a time, less as many as others had open in nine of
 * ten looks of the last minute, less a tenth. So a response that somebody waits for finds a free place and is not behind a line that runs. One line may always run, so a
 * batch never stands still.
 *
 * One process runs all batches, so what it counts is all there is.
 */
export class Slack {
  readonly #options: SlackOptions;
  readonly #warn: (error: unknown) => void;
  readonly #queues = new Map<string, QueueState>();
  #isStopped = false;

  constructor(options: SlackOptions) {
    this.#options = options;
    this.#warn = throttledWarning(options.logger, 'room for batches not seen').warn;
  }

  /** Resolves when a line may run, or at once when the signal is aborted, which its caller looks at. Call what it returns when the line is over. */
  async enter(queue: string, stop: AbortSignal): Promise<() => void> {
    const state = this.#stateOf(queue);
    while (state.own >= state.most && !stop.aborted) await nextTurn(state, stop);
    state.own += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      state.own -= 1;
      letIn(state);
    };
  }

  /** Looks no more. */
  stop(): void {
    this.#isStopped = true;
  }

  #stateOf(queue: string): QueueState {
    const known = this.#queues.get(queue);
    if (known) return known;
    const state: QueueState = { own: 0, waiting: new Set(), others: [], most: 1 };
    this.#queues.set(queue, state);
    void this.#watch(queue, state);
    return state;
  }

  /** Looks as long as there are lines, and some time beyond, so that a line that comes next finds what was seen. */
  async #watch(queue: string, state: QueueState): Promise<void> {
    const { everyMs = 1_000 } = this.#options;
    for (
      let idle = 0;
      idle < remembered && !this.#isStopped;
      idle = state.own + state.waiting.size > 0 ? 0 : idle + 1
    ) {
      await this.#look(queue, state).catch(this.#warn);
      await setTimeout(everyMs, undefined, { ref: false });
    }
    this.#queues.delete(queue);
  }

  async #look(queue: string, state: QueueState): Promise<void> {
    const { capacityOf, openIn } = this.#options;
    const [capacity, open] = await Promise.all([capacityOf(queue), openIn(queue)]);
    state.others.push(Math.max(0, open - state.own));
    if (state.others.length > remembered) state.others.shift();
    const sorted = state.others.toSorted((one, other) => one - other);
    const needed = sorted[Math.ceil(sorted.length * covered) - 1] ?? 0;
    state.most = Math.max(1, capacity - needed - Math.ceil(capacity * spare));
    letIn(state);
  }
}

function letIn({ waiting, most, own }: QueueState): void {
  for (const next of [...waiting].slice(0, Math.max(0, most - own))) next();
}

/** Resolves when the line may look again, or the signal is aborted. Those that wait go in the order in which they came. */
function nextTurn({ waiting }: QueueState, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      waiting.delete(go);
      stop.removeEventListener('abort', go);
      resolve();
    };
    waiting.add(go);
    stop.addEventListener('abort', go, { once: true });
  });
}
