import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { randomSuffix } from '@sluice/contract';
import type { Work } from '@sluice/files';
import { randomBytes } from '@sluice/runtime';
import { appendLine } from './append-line.ts';
import { linesOf } from './batch-lines.ts';
import type { LineAnswer } from './line-server.ts';
import { type BatchTokens, noTokens } from './stored-batch.ts';

/** A line of a result file, which answers a line of the input. */
export interface LineResult {
  customId: string;
  /** JSON, without spaces, or pieces of it. */
  text: string | Iterable<Uint8Array>;
  tokens: BatchTokens;
  /** Whether its batch expired before it ended. */
  isExpired?: boolean;
}

/** The answer to a request, whose body is JSON. */
export function answered(
  customId: string,
  {
    status,
    requestId,
    body,
    tokens = noTokens,
  }: Pick<LineAnswer, 'status' | 'requestId' | 'body' | 'tokens'>,
): LineResult {
  const head = `"status_code":${status},"request_id":${JSON.stringify(requestId)}`;
  const before = `${startOf(customId)}{${head}${bodyMember}`;
  const text = typeof body === 'string' ? `${before}${body}${behindBody}` : around(before, body);
  return { customId, text, tokens };
}

function* around(before: string, body: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield Buffer.from(before);
  yield* body;
  yield Buffer.from(behindBody);
}

const expiredCode = 'batch_expired';

/** The result of a line that had not ended when its batch expired. */
export function expired(customId: string): LineResult {
  const error = { code: expiredCode, message: 'The line had not ended when the batch expired.' };
  return {
    customId,
    text: `${startOf(customId)}null,"error":${JSON.stringify(error)}}`,
    tokens: noTokens,
    isExpired: true,
  };
}

/** What is before the body of an answer, and behind it up to the end of its line. */
export const bodyMember = ',"body":';
export const behindBody = '},"error":null}';

/** The start of a line, up to its response. */
function startOf(customId: string): string {
  const id = `batch_req_${randomSuffix(randomBytes)}`;
  return `{"id":"${id}","custom_id":${JSON.stringify(customId)},"response":`;
}

/** The lines that have ended, counted. */
export interface ResultCounts {
  completed: number;
  failed: number;
  /** Among those that failed. */
  expired: number;
  tokens: BatchTokens;
}

interface ResultFile {
  name: string;
  path: string;
  handle: FileHandle;
  bytes: number;
}

const kinds = ['output', 'errors'] as const;
export type ResultKind = (typeof kinds)[number];

/**
 * The results of a batch while it runs: a file of outputs and one of errors, to which lines are added. They are all that is known of
 * its progress, so a process that goes on begins with what they say.
 *
 * Each process has files of its own, made of the whole lines of those before. So one that has lost the batch without knowing it writes
 * where nobody reads.
 */
export class ResultFiles {
  /** The ids of the lines that have ended. */
  readonly done = new Set<string>();
  readonly counts: ResultCounts = {
    completed: 0,
    failed: 0,
    expired: 0,
    tokens: { ...noTokens },
  };
  readonly #work: Work;
  readonly #files: Record<ResultKind, ResultFile>;
  #closed: ReturnType<ResultFiles['close']> | undefined;
  /** One write after the other. */
  #writing: Promise<void> = Promise.resolve();
  /** One save after the other, and the one that whoever asks meanwhile waits for. */
  #saving: Promise<void> = Promise.resolve();
  #nextSave: Promise<void> | undefined;

  private constructor(work: Work, files: Record<ResultKind, ResultFile>) {
    this.#work = work;
    this.#files = files;
  }

  /** Goes on with the work on a batch. Rejects, and loses nothing, when the signal is aborted before it can. */
  static async open(work: Work, signal?: AbortSignal): Promise<ResultFiles> {
    const before = await readdir(work.path);
    const output = await newFile(work, 'output');
    const errors = await newFile(work, 'errors').catch(async (error: unknown) => {
      await discard(work, output);
      throw error;
    });
    const files = new ResultFiles(work, { output, errors });
    try {
      await files.#copy(before, signal);
    } catch (error) {
      await discard(work, output);
      await discard(work, errors);
      throw error;
    }
    try {
      for (const name of before) {
        await work.drop(name, signal).catch((error: unknown) => {
          // A file that stays is read once more by the process that goes on, and counts once. A new try would only add one more copy.
          if (signal?.aborted === true) throw error;
        });
      }
    } catch (error) {
      // The copy stays: some of it may stand nowhere else by now.
      await Promise.all([output.handle.close(), errors.handle.close()]);
      throw error;
    }
    return files;
  }

  /** Copies the whole lines of those before, and saves them. */
  async #copy(before: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    const work = this.#work;
    // All of them: a process may have died while it copied, or while it took away what it had copied.
    for (const name of before) {
      const kind = kinds.find((each) => name.startsWith(`${each}.`));
      if (!kind) continue;
      for await (const { text, isWhole } of linesOf(createReadStream(join(work.path, name)), Infinity)) {
        signal?.throwIfAborted();
        // The last one may have been written in part.
        const result = text && isWhole ? parseResult(text.toString('utf8')) : undefined;
        if (result) await this.add(kind, result);
      }
    }
    await this.#save(signal);
  }

  /** How many bytes the results have. */
  get bytes(): number {
    return this.#files.output.bytes + this.#files.errors.bytes;
  }

  /** Adds a result, once the results before it were added. It may still be lost with the machine before `sync`. */
  add(kind: ResultKind, result: LineResult): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      if (this.done.has(result.customId)) return;
      const file = this.#files[kind];
      file.bytes += await appendLine(file.handle, result.text);
      this.done.add(result.customId);
      this.#count(kind, result);
    });
    return this.#writing;
  }

  /** Resolves when what was added is saved. Those who ask while a save is under way share the next. */
  sync(): Promise<void> {
    this.#nextSave ??= this.#saving
      .catch(() => undefined) // told to those who asked for it
      .then(() => {
        this.#nextSave = undefined;
        this.#saving = this.#save();
        return this.#saving;
      });
    return this.#nextSave;
  }

  async #save(signal?: AbortSignal): Promise<void> {
    await this.#writing;
    // Both of them: whoever is told that one failed takes the folder away that the other is read from.
    const saves = await Promise.allSettled(
      kinds.map((kind) => this.#work.save(this.#files[kind].name, this.#files[kind].bytes, signal)),
    );
    for (const save of saves) if (save.status === 'rejected') throw save.reason;
  }

  /** Adds no more. Says where the files are. May be called twice. */
  close(): Promise<Record<ResultKind, { path: string; bytes: number }>> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<Record<ResultKind, { path: string; bytes: number }>> {
    try {
      await this.sync();
      return this.#files;
    } finally {
      await Promise.all(kinds.map((kind) => this.#files[kind].handle.close()));
    }
  }

  #count(kind: ResultKind, { tokens: taken, isExpired }: LineResult): void {
    const { counts } = this;
    if (kind === 'output') counts.completed += 1;
    else counts.failed += 1;
    if (isExpired) counts.expired += 1;
    for (const name of Object.keys(noTokens) as (keyof BatchTokens)[]) counts.tokens[name] += taken[name];
  }
}

async function newFile(work: Work, kind: ResultKind): Promise<ResultFile> {
  const name = `${kind}.${randomUUID()}.jsonl`;
  const path = join(work.path, name);
  return { name, path, handle: await open(path, 'wx', 0o600), bytes: 0 };
}

/** Takes a half copy away: on a disk that is full each try would leave one more, and there would be no end of it. */
async function discard(work: Work, { name, handle }: ResultFile): Promise<void> {
  await handle.close();
  await work.drop(name).catch(() => undefined); // told is why it is half
}

/** Undefined for a line that was written in part. */
function parseResult(text: string): LineResult | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const customId = memberOf(value, 'custom_id');
    const tokens = tokensOf(memberOf(memberOf(value, 'response'), 'body'));
    const isExpired = memberOf(memberOf(value, 'error'), 'code') === expiredCode;
    return typeof customId === 'string' ? { customId, text, tokens, isExpired } : undefined;
  } catch {
    return undefined;
  }
}

/** The tokens that an answer counts, in the words of any endpoint. */
export function tokensOf(body: unknown): BatchTokens {
  const usage = memberOf(body, 'usage');
  const number = (value: unknown) => (typeof value === 'number' ? value : 0);
  const input = memberOf(usage, 'input_tokens') ?? memberOf(usage, 'prompt_tokens');
  const output = memberOf(usage, 'output_tokens') ?? memberOf(usage, 'completion_tokens');
  const inputDetails = memberOf(usage, 'input_tokens_details') ?? memberOf(usage, 'prompt_tokens_details');
  const outputDetails =
    memberOf(usage, 'output_tokens_details') ?? memberOf(usage, 'completion_tokens_details');
  return {
    input: number(input),
    cached: number(memberOf(inputDetails, 'cached_tokens')),
    output: number(output),
    reasoning: number(memberOf(outputDetails, 'reasoning_tokens')),
  };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
