import { DelayedError, type Job, UnrecoverableError, type Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { closeWorker } from './close-worker.ts';
import { longestBlockSeconds, PatientWorker } from './patient-worker.ts';
import { queuePrefix } from './queue-names.ts';

/** How a try ended. */
export type Verdict =
  /** It has arrived. The note stays with it, a few words. */
  | { kind: 'delivered'; note: string }
  /** It has not: it is tried again when the schedule says, and not before `waitMs` have passed. */
  | { kind: 'failed'; note: string; waitMs?: number }
  /** It never will. */
  | { kind: 'given_up'; note: string }
  /** It was not tried: it comes back after a while, and this counts as no try. */
  | { kind: 'later'; afterMs: number };

export interface DeliveryConsumerOptions<Data> {
  connection: Redis;
  keyPrefix: string;
  name: string;
  /** Deliveries that are tried at a time. */
  concurrency: number;
  /** How long nobody else takes a delivery whose process is silent, in milliseconds. A try may take longer. */
  lockMs: number;
  /** How often locks that lapsed are looked for, in milliseconds. */
  stalledMs: number;
  /** The pause after each failed try, in milliseconds. After the one behind the last, the delivery has failed. */
  pausesMs: readonly number[];
  /** How long ended deliveries stay, and how many. */
  keep: { forMs: number; count: number };
  /** Tries it. `failedTries` were before. Never rejects. */
  run: (data: Data, delivery: { id: string; failedTries: number }) => Promise<Verdict>;
  /** From 0 up to 1; a pause is up to a tenth shorter than the schedule says. `Math.random` by default. */
  random?: () => number;
  onError: (error: Error) => void;
}

const jitter = 0.1;

class FailedTry extends Error {
  readonly waitMs: number;

  constructor({ note, waitMs = 0 }: { note: string; waitMs?: number }) {
    super(note);
    this.waitMs = waitMs;
    delete this.stack; // BullMQ would keep it with the job.
  }
}

/**
 * Takes deliveries from a queue and tries them, each at least once: a process that dies during a try leaves it to another one,
 * which tries again.
 */
export class DeliveryConsumer<Data extends object> {
  readonly #options: DeliveryConsumerOptions<Data>;
  #worker: Worker | undefined;
  #underWay = 0;

  constructor(options: DeliveryConsumerOptions<Data>) {
    this.#options = options;
  }

  /** How many are tried at this moment. */
  get underWay(): number {
    return this.#underWay;
  }

  start(): void {
    if (this.#worker) return;
    const { name, connection, keyPrefix, concurrency, lockMs, stalledMs, keep, onError } = this.#options;
    const kept = { age: Math.ceil(keep.forMs / 1000), count: keep.count };
    this.#worker = new PatientWorker<Data>(name, (job, token) => this.#process(job, token), {
      connection,
      prefix: queuePrefix(keyPrefix),
      concurrency,
      lockDuration: lockMs,
      stalledInterval: stalledMs,
      removeOnComplete: kept,
      removeOnFail: kept,
      maxStalledCount: 1_000,
      drainDelay: longestBlockSeconds,
      skipVersionCheck: true,
      settings: { backoffStrategy: (tries, _type, error) => this.#pauseMs(tries, error) },
    });
    this.#worker.on('error', onError);
  }

  /** Takes no more, and resolves when nothing is tried any more. May be called without a start. */
  async stop(): Promise<void> {
    const worker = this.#worker;
    if (worker) await closeWorker(worker, undefined, () => this.#underWay === 0);
  }

  async #process(job: Job<Data>, token: string | undefined): Promise<string> {
    // What an add says holds for all tries, and a schedule may change with a release.
    job.opts.attempts = this.#options.pausesMs.length + 1;
    job.opts.backoff = { type: 'custom' };
    this.#underWay += 1;
    try {
      const verdict = await this.#options.run(job.data, { id: job.id ?? '', failedTries: job.attemptsMade });
      return await settleTry(verdict, job, token);
    } finally {
      this.#underWay -= 1;
    }
  }

  #pauseMs(tries: number, error: Error | undefined): number {
    const { pausesMs, random = Math.random } = this.#options;
    // Shorter, so that the schedule ends when it says; what the other side asks for only grows.
    const plannedMs = (pausesMs[tries - 1] ?? 0) * (1 - jitter * random());
    const askedMs = error instanceof FailedTry ? error.waitMs * (1 + jitter * random()) : 0;
    return Math.round(Math.max(plannedMs, askedMs));
  }
}

/** Says it to BullMQ, by what is returned and what is thrown. */
async function settleTry(
  verdict: Verdict,
  job: Pick<Job, 'moveToDelayed'>,
  token: string | undefined,
): Promise<string> {
  switch (verdict.kind) {
    case 'delivered':
      return verdict.note;
    case 'failed':
      throw new FailedTry(verdict);
    case 'given_up': {
      const error = new UnrecoverableError(verdict.note);
      delete error.stack;
      throw error;
    }
    case 'later':
      await job.moveToDelayed(Date.now() + verdict.afterMs, token);
      throw new DelayedError();
  }
}
