import { addAbortSignal } from 'node:stream';
import { type BatchError, ServiceError } from '@sluice/contract';
import { newFileId, type Work } from '@sluice/files';
import { pause } from '@sluice/runtime';
import { inputGone, resultsTooLarge } from './batch-errors.ts';
import { idOfWrong, linesOf } from './batch-lines.ts';
import type { BatchName, BatchStore } from './batch-store.ts';
import { checkInput } from './check-input.ts';
import { type BatchParts, inputOf, LineRun } from './line-run.ts';
import { expired, ResultFiles } from './result-files.ts';
import { type BatchEnd, type BatchEnding, endOf, hasEnded, type StoredBatch } from './stored-batch.ts';

/** The parts of a process for its batches, with the store of these. */
export interface BatchServices extends BatchParts {
  store: BatchStore;
  /** A batch ends when its results have so many bytes. */
  resultBytes: number;
  /** Milliseconds since 1970, by the clock that all processes have. */
  now: () => number;
  /** How often progress is noted, and a cancellation noticed, in milliseconds; a second by default. */
  everyMs?: number;
}

export interface BatchRunOptions extends BatchServices {
  name: BatchName;
  /** The process that runs it, by a name of its own. */
  runner: string;
  /** Opens the results of one batch after another: they are copied meanwhile, and take twice as much of the disk. */
  inTurn: <Result>(open: () => Promise<Result>) => Promise<Result>;
  /** Aborted when this process is to leave the batch to another one. */
  leaving: AbortSignal;
  /** Whether no other process can have begun to go on with it. */
  isHeld: () => boolean;
  /** Tells of its end: once, or again when a process died. */
  onEnd: (end: BatchEnd) => Promise<void>;
}

/** Another process runs the batch, or it is gone. */
export class BatchLost extends Error {
  override readonly name = 'BatchLost';
}

/**
 * One process runs a batch, from wherever it stands: it checks the input, runs each line, and makes the files. Whatever has been done
 * is not done again: results stand in the files, and a line that was accepted and has none is the same response when it is asked for
 * again.
 */
export class BatchRun {
  readonly #options: BatchRunOptions;
  /** Aborted when it ends before its lines have. */
  readonly #ending = new AbortController();
  readonly #over = new AbortController();
  readonly #lost = new AbortController();
  /** Aborted when this process is to leave the batch, or has lost it. */
  readonly #gone: AbortSignal;
  /** Whether its results have as many bytes as they may. */
  #isFull = false;
  /** Whether a process before has begun with its lines. */
  #hadBegun = false;

  constructor(options: BatchRunOptions) {
    this.#options = options;
    this.#gone = AbortSignal.any([options.leaving, this.#lost.signal]);
  }

  /**
   * Resolves when the batch has ended, or was left.
   *
   * @throws {BatchLost} when another process has it.
   */
  async run(): Promise<void> {
    const { store, files, name, runner, leaving, onEnd } = this.#options;
    let batch = await store.change(name, (stored) => (hasEnded(stored) ? stored : { ...stored, runner }));
    if (!batch) return;
    this.#hadBegun = batch.at.inProgress !== undefined;
    try {
      if (batch.status === 'validating') batch = await this.#check(batch);
      if (!hasEnded(batch)) batch = await this.#answer(batch);
      // Also when another process ended it and died right after. Work that cannot be taken away is swept some day.
      await files.removeWork(name.id, this.#gone).catch(() => undefined);
      const end = endOf(batch);
      if (end) await onEnd(end);
      await store.close(name);
    } catch (error) {
      // It stands where it stood, for the process that goes on.
      if (!leaving.aborted) throw error;
    } finally {
      this.#over.abort();
    }
  }

  async #check(batch: StoredBatch): Promise<StoredBatch> {
    const { name, files, server, readLine, leaving, now } = this.#options;
    const owner = { tenant: name.tenant, key: batch.key };
    let checked;
    try {
      checked = await checkInput(owner, batch, { files, server, readLine, signal: leaving });
    } catch (error) {
      // Its file was deleted meanwhile.
      if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
      const { code, message } = error;
      checked = { total: 0, errors: [{ code, message, line: null, param: 'input_file_id' }] };
    }
    const { errors, total } = checked;
    return this.#change((stored) => {
      const counts = { ...stored.counts, total };
      // It was cancelled meanwhile.
      if (stored.status !== 'validating') return { ...stored, counts };
      return errors.length > 0
        ? { ...stored, counts, errors, status: 'failed', at: { ...stored.at, failed: now() } }
        : { ...stored, counts, status: 'in_progress', at: { ...stored.at, inProgress: now() } };
    });
  }

  /** Runs the lines that have no answer, unless all have, and makes the files. */
  async #answer(batch: StoredBatch): Promise<StoredBatch> {
    const open = () => this.#openResults();
    // There is nothing to copy where no process before has begun with its lines.
    const { work, results } = await (this.#hadBegun ? this.#options.inTurn(open) : open());
    try {
      const over = batch.status === 'finalizing' ? batch : await this.#runLines(batch, results);
      return await this.#finish(over, results);
    } finally {
      // The process that goes on asks again for answers that could not be saved.
      await results.close().catch(() => undefined);
      await work.leave();
    }
  }

  async #openResults(): Promise<{ work: Work; results: ResultFiles }> {
    const { name, files } = this.#options;
    this.#gone.throwIfAborted();
    const work = await files.openWork(name.id, this.#gone);
    try {
      return { work, results: await ResultFiles.open(work, this.#gone) };
    } catch (error) {
      await work.leave();
      throw error;
    }
  }

  async #runLines(batch: StoredBatch, results: ResultFiles): Promise<StoredBatch> {
    const { now } = this.#options;
    if (batch.status === 'cancelling' || now() >= batch.expiresAt) this.#ending.abort();
    this.#endIfFull(results);
    const watching = this.#watch(results);
    let ending: BatchEnding;
    let error: BatchError | undefined;
    try {
      const hasRead = await this.#runAll(batch, results);
      ending = await this.#settled(results);
      if (ending === 'completed' && !hasRead) error = inputGone;
      if (ending === 'completed' && this.#isFull && !hasAll(batch, results))
        error = resultsTooLarge(this.#options.resultBytes);
      if (error) ending = 'failed';
      if (ending === 'expired') await this.#writeExpired(batch, results);
    } finally {
      this.#over.abort();
      await watching;
    }
    const { counts } = results;
    return this.#change((stored) => ({
      ...stored,
      status: 'finalizing',
      ending,
      ...(error && { errors: [error] }),
      at: { ...stored.at, finalizing: now() },
      counts: countsOf(stored, results),
      tokens: counts.tokens,
      files: {
        output: counts.completed > 0 ? newFileId() : undefined,
        errors: counts.failed > 0 ? newFileId() : undefined,
      },
    }));
  }

  /** Notes how far it is, and looks whether it is to end, each second. */
  async #watch(results: ResultFiles): Promise<void> {
    const { everyMs = 1_000, leaving, now } = this.#options;
    const over = AbortSignal.any([this.#over.signal, leaving]);
    while (!over.aborted) {
      const batch = await this.#note(results).catch((error: unknown) => {
        // Somebody else has it: nothing that is written here is read.
        if (error instanceof BatchLost) this.#lost.abort(error);
      });
      if (batch && (batch.status === 'cancelling' || now() >= batch.expiresAt)) this.#ending.abort();
      await pause(everyMs, over);
    }
  }

  /** Lets the batch end once its results have as many bytes as they may. */
  #endIfFull({ bytes }: ResultFiles): void {
    if (bytes < this.#options.resultBytes) return;
    this.#isFull = true;
    this.#ending.abort();
  }

  #note(results: ResultFiles): Promise<StoredBatch> {
    return this.#change((stored) => ({
      ...stored,
      counts: countsOf(stored, results),
      tokens: results.counts.tokens,
    }));
  }

  #runAll(batch: StoredBatch, results: ResultFiles): Promise<boolean> {
    const run = new LineRun({
      ...this.#options,
      batch,
      hadBegun: this.#hadBegun,
      results,
      onAdded: () => this.#endIfFull(results),
      gone: this.#gone,
      ending: this.#ending.signal,
    });
    return run.run();
  }

  async #settled(results: ResultFiles): Promise<BatchEnding> {
    const { store, name, now } = this.#options;
    await results.sync();
    const batch = await store.get(name);
    if (batch?.status === 'cancelling') return 'cancelled';
    if (!this.#ending.signal.aborted || this.#isFull) return 'completed';
    // It was cancelled, which the store has forgotten, unless its window is over.
    return batch && now() >= batch.expiresAt ? 'expired' : 'cancelled';
  }

  /** What has not ended by the window is said to have expired. */
  async #writeExpired(batch: StoredBatch, results: ResultFiles): Promise<void> {
    const { files, name, readLine } = this.#options;
    const content = await inputOf(files, name.tenant, batch);
    if (!content) return;
    addAbortSignal(this.#gone, content);
    for await (const raw of linesOf(content)) {
      this.#gone.throwIfAborted();
      const parsed = await readLine(name.tenant, raw, batch.endpoint);
      const id = 'problem' in parsed ? idOfWrong(raw, batch.endpoint) : parsed.line.customId;
      if (id !== undefined && !results.done.has(id)) await results.add('errors', expired(id));
    }
    await results.sync();
  }

  /** Makes the files of the results, each once, whichever process comes to it. */
  async #finish(batch: StoredBatch, results: ResultFiles): Promise<StoredBatch> {
    const { name, files, now } = this.#options;
    const written = await results.close();
    for (const kind of ['output', 'errors'] as const) {
      const id = batch.files?.[kind];
      if (id === undefined) continue;
      const about = {
        id,
        name: `${name.id}_${kind === 'errors' ? 'error' : kind}.jsonl`,
        purpose: 'batch_output' as const,
      };
      const kept = { ...about, expiresAfterSeconds: batch.outputSeconds };
      await files.keep(name.tenant, kept, written[kind], this.#gone);
    }
    const { ending = 'completed' } = batch;
    return this.#change((stored) => ({
      ...stored,
      status: ending,
      at: { ...stored.at, [ending]: now() },
    }));
  }

  /** Changes the batch as long as this process has it. */
  async #change(rule: (batch: StoredBatch) => StoredBatch): Promise<StoredBatch> {
    const { store, name, runner } = this.#options;
    const changed = await store.change(name, (stored) => {
      if (stored.runner !== runner || hasEnded(stored)) throw new BatchLost();
      return rule(stored);
    });
    if (!changed) throw new BatchLost();
    return changed;
  }
}

function hasAll({ counts: { total } }: StoredBatch, { counts }: ResultFiles): boolean {
  return counts.completed + counts.failed >= total;
}

function countsOf({ counts: { total } }: StoredBatch, { counts }: ResultFiles): StoredBatch['counts'] {
  const { completed, failed, expired: ofWindow } = counts;
  return { total, completed, failed, ...(ofWindow > 0 && { expired: ofWindow }) };
}
