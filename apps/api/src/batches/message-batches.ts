import { Readable } from 'node:stream';
import {
  type BatchOwner,
  BatchRecords,
  type BatchStore,
  endOf,
  idsOfMessages,
  keptMs,
  type KnownBatch,
  type ListedBatch,
  type ResultPart,
  ResultReader,
} from '@sluice/batches';
import { newRequestId, ServiceError } from '@sluice/contract';
import type { Files } from '@sluice/files';
import { type MessageBatch, type MessagePage, messagePageOf, type MessagePageQuery } from '@sluice/protocols';
import { randomBytes } from '@sluice/runtime';
import type { DownloadReader } from '../plugins/downloads.ts';
import { slicesOf } from '../reader-pace.ts';
import { errorBody } from './line-answer.ts';

export interface MessageBatchesOptions {
  store: BatchStore;
  files: Files;
  now: () => number;
}

/** Memory of the id of a line, which is kept while results are read, in bytes. */
const bytesOfId = 128;

type Known = KnownBatch<'/v1/messages'>;

/** The batches of messages, as tenants ask for them by Anthropic's API. Their lines stand in a file, as those of any batch. */
export class MessageBatches {
  readonly #files: Files;
  readonly #records: BatchRecords<'/v1/messages'>;

  constructor({ store, files, now }: MessageBatchesOptions) {
    this.#files = files;
    this.#records = new BatchRecords({ store, endpoints: ['/v1/messages'], now });
  }

  /** `lines` are those of `linesOfMessages`. @throws {ServiceError} when the tenant has too many files or batches. */
  async create(owner: BatchOwner, lines: Uint8Array): Promise<MessageBatch> {
    const { tenant } = owner;
    const draft = await this.#files.receive(tenant, Readable.from([Buffer.from(lines.buffer)]), lines.length);
    try {
      const file = await this.#files.keep(tenant, { name: 'messages.jsonl', purpose: 'batch' }, draft);
      return present(await this.#add(owner, file.id, countLines(Buffer.from(lines.buffer))));
    } finally {
      await this.#files.drop(draft);
    }
  }

  async #add(owner: BatchOwner, inputFileId: string, total: number): Promise<Known> {
    try {
      return await this.#records.add(owner, {
        endpoint: '/v1/messages',
        inputFileId,
        total,
        // Nobody else takes them away once the batch is forgotten.
        outputSeconds: keptMs / 1_000,
      });
    } catch (error) {
      await this.#files.remove(owner.tenant, inputFileId).catch(() => undefined); // it expires otherwise
      throw error;
    }
  }

  /** The newest first. @throws {ServiceError} when an id names no batch. */
  async list(tenant: string, page: MessagePageQuery): Promise<MessagePage<MessageBatch>> {
    return messagePageOf((await this.#records.list(tenant)).map(present), page);
  }

  /** @throws {ServiceError} when the tenant has no such batch, as all of these do. */
  async get(tenant: string, id: string): Promise<MessageBatch> {
    return present(await this.#known(tenant, id));
  }

  async cancel(tenant: string, id: string): Promise<MessageBatch> {
    const known = await this.#records.cancel(tenant, recordId(id));
    if (!known) throw notFound(id);
    return present(known);
  }

  /** Takes a batch away that has ended, with its files. @throws {ServiceError} when it has not. */
  async remove(tenant: string, id: string): Promise<void> {
    const { id: own, batch } = await this.#known(tenant, id);
    if (!endOf(batch))
      throw new ServiceError('invalid_value', 'The batch has not ended: cancel it first.', { param: 'id' });
    await this.#records.forget(tenant, own);
    for (const file of [batch.inputFileId, batch.files?.output, batch.files?.errors]) {
      if (file !== undefined) await this.#files.remove(tenant, file).catch(ignoreAbsent);
    }
  }

  /** The results of a batch that has ended, one line of JSON for each request, in any order. `reader` counts what they take of memory. */
  async results(tenant: string, id: string, reader: DownloadReader): Promise<Readable> {
    const { batch } = await this.#known(tenant, id);
    if (!endOf(batch))
      throw new ServiceError('invalid_value', 'The batch has not ended, so it has no results yet.', {
        param: 'id',
      });
    for (const file of [batch.files?.output, batch.files?.errors]) {
      if (file === undefined) continue;
      // An answer that has begun could only break off.
      await this.#files.get(tenant, file).catch((error: unknown) => {
        ignoreAbsent(error);
        const message = `The results of the batch '${id.slice(0, 100)}' are gone.`;
        throw new ServiceError('not_found', message, { param: 'id' });
      });
    }
    await reader.keep(this.#files.readerBytes + batch.counts.total * bytesOfId);
    return Readable.from(this.#resultLines(tenant, batch), { objectMode: false, highWaterMark: 1 });
  }

  /** Pieces of lines, as they are read: a line may be as long as an answer. */
  async *#resultLines(
    tenant: string,
    { status, inputFileId, files, counts, errors }: Known['batch'],
  ): AsyncGenerator<Buffer | string> {
    const seen = new Set<string>();
    for (const [file, beforeBody] of [
      [files?.output, '{"type":"succeeded","message":'],
      [files?.errors, '{"type":"errored","error":'],
    ] as const) {
      if (file === undefined) continue;
      const lines = new ResultReader();
      const { content } = await this.#files.read(tenant, file);
      for await (const chunk of content as AsyncIterable<Buffer>) {
        for (const slice of slicesOf(chunk)) yield printed(lines.read(slice), { beforeBody, seen });
      }
      yield printed(lines.end(), { beforeBody, seen });
    }
    if (seen.size >= counts.total) return;
    // It was cancelled, or failed, before the others had a result. Its input alone says which they are, and may be gone.
    const left =
      status === 'failed' ? `{"type":"errored","error":${bodyOfFailed(errors)}}` : '{"type":"canceled"}';
    try {
      const { content } = await this.#files.read(tenant, inputFileId);
      for await (const customId of idsOfMessages(content)) {
        if (!seen.has(customId)) yield lineOf(customId, left);
      }
    } catch (error) {
      ignoreAbsent(error);
    }
  }

  async #known(tenant: string, id: string): Promise<Known> {
    const known = await this.#records.get(tenant, recordId(id));
    if (!known) throw notFound(id);
    return known;
  }
}

/** The id of a batch here is that of its record with a prefix. */
const prefix = 'msg';
const recordId = (id: string) => (id.startsWith(prefix) ? id.slice(prefix.length) : '');

function notFound(id: string): ServiceError {
  return new ServiceError('not_found', `There is no message batch '${id.slice(0, 100)}'.`, { param: 'id' });
}

function countLines(lines: Buffer): number {
  let count = 0;
  for (let at = lines.indexOf(0x0a); at >= 0; at = lines.indexOf(0x0a, at + 1)) count += 1;
  return count;
}

function ignoreAbsent(error: unknown): void {
  if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
}

/** What a reader of results is sent for these parts, whose ids are noted as seen. */
function printed(
  parts: Iterable<ResultPart>,
  { beforeBody, seen }: { beforeBody: string; seen: Set<string> },
): Buffer {
  const pieces: Buffer[] = [];
  for (const part of parts) {
    if (part.kind === 'body') pieces.push(part.bytes);
    else if (part.kind === 'end') pieces.push(Buffer.from(behindResult));
    else {
      const { kind, customId } = part;
      seen.add(customId);
      const text =
        kind === 'begin' ? `${startOf(customId)}${beforeBody}` : lineOf(customId, '{"type":"expired"}');
      pieces.push(Buffer.from(text));
    }
  }
  return Buffer.concat(pieces);
}

/** The error of a request that had not run when its batch failed. */
function bodyOfFailed(errors: Known['batch']['errors']): string {
  const [{ message } = { message: 'The batch failed before this request had run.' }] = errors ?? [];
  const failure = new ServiceError('file_limit_reached', message);
  return errorBody(failure, { endpoint: '/v1/messages', requestId: newRequestId(randomBytes) });
}

const startOf = (customId: string) => `{"custom_id":${JSON.stringify(customId)},"result":`;
const lineOf = (customId: string, result: string) => `${startOf(customId)}${result}}\n`;
/** Ends a result with a body, and its line. */
const behindResult = '}}\n';

function present({ id, batch }: KnownBatch<'/v1/messages', ListedBatch>): MessageBatch {
  const { at, counts, createdAt, expiresAt } = batch;
  const { total, completed, failed, expired = 0 } = counts;
  const end = endOf(batch);
  const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  const left = Math.max(0, total - completed - failed);
  const own = `${prefix}${id}`;
  return {
    id: own,
    type: 'message_batch',
    processing_status: end ? 'ended' : at.cancelling === undefined ? 'in_progress' : 'canceling',
    request_counts: {
      processing: end ? 0 : left,
      succeeded: completed,
      errored: failed - expired + (batch.status === 'failed' ? left : 0),
      canceled: end && batch.status !== 'failed' ? left : 0,
      expired,
    },
    created_at: new Date(createdAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    ended_at: iso(end?.at),
    cancel_initiated_at: iso(at.cancelling),
    archived_at: null,
    results_url: end ? `/v1/messages/batches/${own}/results` : null,
  };
}
