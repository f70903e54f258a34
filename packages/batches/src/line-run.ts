import { addAbortSignal, type Readable } from 'node:stream';
import { type BatchError, ServiceError } from '@sluice/contract';
import type { Files } from '@sluice/files';
import { type BatchLine, idOfWrong, linesOf, type RawLine, type ReadLine } from './batch-lines.ts';
import type { BatchName } from './batch-store.ts';
import { type LineAnswer, LineLeft, type LineServer } from './line-server.ts';
import { answered, type LineResult, type ResultFiles, type ResultKind } from './result-files.ts';
import type { StoredBatch } from './stored-batch.ts';

/** The parts of a process for each of its batches. */
export interface BatchParts {
  files: Files;
  server: LineServer;
  readLine: ReadLine;
  /** How many lines of a batch wait or run at a time. */
  linesAtOnce: number;
}

export interface LineRunOptions extends BatchParts {
  name: BatchName;
  batch: StoredBatch;
  /** Whether a process before has begun with its lines: what that one had accepted ends with the batch, too. */
  hadBegun: boolean;
  results: ResultFiles;
  /** Called after each result. */
  onAdded: () => void;
  /** Aborted when this process is to leave the batch, or has lost it. */
  gone: AbortSignal;
  /** Aborted when the batch ends before its lines have. */
  ending: AbortSignal;
  /** Whether no other process can have begun to go on with it. */
  isHeld: () => boolean;
}

/** Most bytes of the requests of a batch that wait or run at a time, unless one alone has more. */
const bytesAtOnce = 16 * 1024 * 1024;

/** Runs the lines of a batch that have no answer yet, and adds their answers to its results. */
export class LineRun {
  readonly #options: LineRunOptions;

  constructor(options: LineRunOptions) {
    this.#options = options;
  }

  /**
   * Returns false when the input was deleted, or has expired, before all lines were read, and true when they have run or the batch is ending.
   * Rejects when this process is to leave it.
   */
  async run(): Promise<boolean> {
    const { name, batch, hadBegun, files, gone, ending } = this.#options;
    gone.throwIfAborted();
    if (ending.aborted && !hadBegun) return true;
    // Whenever a batch ends here, each line that another process may have had accepted is asked for all the same, so that it ends.
    const stop = hadBegun ? gone : AbortSignal.any([gone, ending]);
    const content = await inputOf(files, name.tenant, batch);
    if (!content) return false;
    // A read that hangs is left as well.
    addAbortSignal(stop, content);
    const failed = new AbortController();
    const running = new Set<Promise<void>>();
    try {
      await this.#beginAll({ content, stop, running, failed });
    } catch (error) {
      if (!stop.aborted) failed.abort(error);
    } finally {
      content.destroy();
      await Promise.all(running);
    }
    failed.signal.throwIfAborted();
    gone.throwIfAborted();
    return true;
  }

  async #beginAll({
    content,
    stop,
    running,
    failed,
  }: {
    content: Readable;
    stop: AbortSignal;
    running: Set<Promise<void>>;
    failed: AbortController;
  }): Promise<void> {
    const { name, batch, results, readLine, linesAtOnce, ending } = this.#options;
    const gone = AbortSignal.any([this.#options.gone, failed.signal]);
    let bytes = 0;
    for await (const raw of linesOf(content)) {
      const parsed = await readLine(name.tenant, raw, batch.endpoint);
      if ('problem' in parsed) {
        if (!ending.aborted) await this.#refuse(raw, parsed.problem);
        continue;
      }
      if (results.done.has(parsed.line.customId)) continue;
      const length = parsed.line.body.length;
      const isFull = () => running.size >= linesAtOnce || (running.size > 0 && bytes + length > bytesAtOnce);
      while (isFull()) await Promise.race(running);
      if (stop.aborted || failed.signal.aborted) return;
      bytes += length;
      const one = this.#runLine(parsed.line, gone)
        .catch((error: unknown) => failed.abort(error))
        .finally(() => {
          bytes -= length;
          running.delete(one);
        });
      running.add(one);
    }
  }

  /** A wrong line has failed its batch before anything ran, unless it is wrong alone. */
  async #refuse(raw: RawLine, problem: BatchError): Promise<void> {
    const { batch, server } = this.#options;
    const customId = idOfWrong(raw, batch.endpoint);
    if (customId === undefined) return;
    await this.#add('errors', answered(customId, server.refuse(batch.endpoint, problem)));
  }

  async #add(kind: ResultKind, result: LineResult): Promise<void> {
    const { results, onAdded } = this.#options;
    await results.add(kind, result);
    onAdded();
  }

  async #runLine({ number, customId, body, isKept }: BatchLine, gone: AbortSignal): Promise<void> {
    const { name, batch, results, server, ending, isHeld } = this.#options;
    let answer: LineAnswer;
    try {
      answer = await server.run(
        { tenant: name.tenant, key: batch.key },
        { endpoint: batch.endpoint, body, isKept, idempotencyKey: `${name.id}:${number}` },
        { leaving: gone, ending },
      );
    } catch (error) {
      if (error instanceof LineLeft) return;
      throw error;
    }
    try {
      // It was cancelled with the batch: what comes of it is said by how the batch ends.
      if (answer.isCancelled && ending.aborted) return;
      await this.#add(answer.status < 300 ? 'output' : 'errors', answered(customId, answer));
    } finally {
      answer.free?.();
    }
    if (!answer.forget) return;
    await results.sync();
    // A process that has taken over by now has not read this result, and asks for the response.
    if (isHeld()) await answer.forget();
  }
}

/** The content of the input of a batch; undefined when it is gone. */
export async function inputOf(
  files: Files,
  tenant: string,
  { inputFileId }: Pick<StoredBatch, 'inputFileId'>,
): Promise<Readable | undefined> {
  try {
    return (await files.read(tenant, inputFileId)).content;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return undefined;
    throw error;
  }
}
