import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Logger, loggedError, pause, throttledWarning } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { BatchLost, BatchRun, type BatchServices } from './batch-run.ts';
import type { BatchName } from './batch-store.ts';
import type { BatchEnd } from './stored-batch.ts';

export interface BatchRunnerOptions extends BatchServices {
  connection: Pick<Redis, 'eval'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
  logger: Logger;
  /** Tells of the end of a batch: once, or again when a process died. */
  onEnd: (name: BatchName, end: BatchEnd) => Promise<void>;
  /** How long another process waits for this one, in milliseconds. */
  leaseMs: number;
}

/** How many batches run at a time. */
const batchesAtOnce = 8;

/** How many of them are of one tenant. Batches whose lines wait stay for a day, and those of other tenants begin beside them. */
const ofTenantAtOnce = batchesAtOnce / 2;

/** How often work is swept away that was left behind, in milliseconds. */
const sweepEveryMs = 3_600_000;

const script = readFileSync(new URL('../src/hold-lease.lua', import.meta.url), 'utf8');

/** Runs batches while a process runs, when no other process does. */
export class BatchRunner {
  readonly #options: BatchRunnerOptions;
  readonly #runner = randomUUID();
  readonly #running = new Map<string, { name: BatchName; over: Promise<void> }>();
  readonly #stopping = new AbortController();
  /** Aborted when the lease is lost: replaced when there is a new one. */
  #leaving = new AbortController();
  #heldUntil = 0;
  /** When it is swept next, by the clock; never while it is. */
  #sweepAt = 0;
  #loop: Promise<void> | undefined;
  /** Settles when no batch opens its results. */
  #opening: Promise<unknown> = Promise.resolve();

  constructor(options: BatchRunnerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Leaves what runs to another process. May be called twice, or without a start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#leaving.abort();
    await this.#loop;
    await Promise.all([...this.#running.values()].map(({ over }) => over));
    if (this.#loop) await this.#hold(0).catch(() => undefined); // it lapses otherwise
  }

  async #run(): Promise<void> {
    const { logger, everyMs = 1_000, leaseMs } = this.#options;
    const { signal } = this.#stopping;
    const { warn } = throttledWarning(logger, 'batches wait');
    while (!signal.aborted) {
      try {
        const isHeld = await this.#hold(leaseMs);
        if (!isHeld) this.#leave();
        else if (!signal.aborted) await this.#begin();
      } catch (error) {
        // It may have lapsed by now.
        if (performance.now() > this.#heldUntil) this.#leave();
        warn(error);
      }
      await pause(everyMs, signal);
    }
  }

  #leave(): void {
    if (this.#running.size === 0) return;
    this.#leaving.abort();
    this.#leaving = new AbortController();
  }

  async #hold(leaseMs: number): Promise<boolean> {
    const { connection, keyPrefix } = this.#options;
    const askedAt = performance.now();
    const isHeld =
      (await connection.eval(script, 1, `${keyPrefix}batches-lease`, this.#runner, leaseMs)) === 1;
    if (isHeld) this.#heldUntil = askedAt + leaseMs;
    return isHeld;
  }

  async #begin(): Promise<void> {
    const open = await this.#options.store.open();
    const waiting = open.filter(({ id }) => !this.#running.has(id));
    for (let next = this.#next(waiting); next; next = this.#next(waiting)) {
      waiting.splice(waiting.indexOf(next), 1);
      this.#start(next);
    }
    // It may take long, and the lease does not wait for it.
    void this.#sweepWhenDue(new Set(open.map(({ id }) => id)));
  }

  /** Takes work away that ended batches have left: of a process that died, or that could not be taken away. */
  async #sweepWhenDue(ids: ReadonlySet<string>): Promise<void> {
    const { files, logger, now } = this.#options;
    const since = now();
    if (since < this.#sweepAt) return;
    this.#sweepAt = Infinity;
    try {
      await files.sweepWork((id) => ids.has(id));
    } catch (error) {
      logger.warn({ err: loggedError(error) }, 'batches not swept');
    }
    this.#sweepAt = since + sweepEveryMs;
  }

  /** The one of the tenant who has the fewest running, if there is room. */
  #next(waiting: readonly BatchName[]): BatchName | undefined {
    if (this.#running.size >= batchesAtOnce) return undefined;
    const running = [...this.#running.values()];
    const countOf = ({ tenant }: BatchName) => running.filter(({ name }) => name.tenant === tenant).length;
    return waiting
      .filter((name) => countOf(name) < ofTenantAtOnce)
      .toSorted((one, other) => countOf(one) - countOf(other))[0];
  }

  #inTurn<Result>(open: () => Promise<Result>): Promise<Result> {
    const opened = this.#opening.then(open);
    this.#opening = opened.catch(() => undefined); // told to its batch
    return opened;
  }

  #start(name: BatchName): void {
    const { logger } = this.#options;
    const leaving = this.#leaving.signal;
    const run = new BatchRun({
      ...this.#options,
      name,
      runner: this.#runner,
      inTurn: (open) => this.#inTurn(open),
      leaving,
      isHeld: () => !leaving.aborted && performance.now() < this.#heldUntil,
      onEnd: (end) => this.#options.onEnd(name, end),
    });
    const over = run
      .run()
      .catch((error: unknown) => {
        if (!(error instanceof BatchLost))
          logger.warn({ err: loggedError(error), batch: name.id }, 'batch interrupted, it is tried again');
      })
      .finally(() => this.#running.delete(name.id));
    this.#running.set(name.id, { name, over });
  }
}
