import { createReadStream } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { ServiceError } from '@sluice/contract';
import { type Logger, throttledWarning } from '@sluice/runtime';

/** A bucket of S3, or of a server that speaks its protocol. */
export interface BucketOptions {
  name: string;
  /** The address of a server; that of AWS in the region by default. */
  endpoint?: string;
  region: string;
  /** Credentials; by default those that the SDK of AWS finds in the environment or in the machine. */
  accessKeyId?: string;
  secretAccessKey?: string;
  /** Whether the bucket stands in the path of a URL, and not in the name of its host. */
  pathStyle: boolean;
}

export interface BucketObject {
  key: string;
  bytes: number;
  /** How long ago it was written, by the clock of the bucket, in milliseconds. */
  ageMs: number;
}

/** The times within which a bucket is to take a connection, and to answer, in milliseconds. */
const connectMs = 5_000;
const answerMs = 60_000;

/** The slowest that an object is to arrive, in bytes a millisecond. */
const slowestBytes = 1_000;

/** How many calls a process has under way. More of them wait. */
const callsAtOnce = 50;

/** How many objects are taken away at a time. */
const removedAtOnce = 16;

/** How often an object is written that did not arrive. The SDK repeats whatever else it can. */
const tries = 3;

/**
 * The five operations of S3 that files need. Each of them rejects with `files_unavailable` when the bucket does not answer or refuses it,
 * and logs why. One that is given a signal rejects with its reason once that is aborted.
 */
export class BucketClient {
  readonly #options: BucketOptions;
  readonly #warn: (error: unknown) => void;
  #opened: Promise<OpenedClient> | undefined;

  constructor(options: BucketOptions, logger: Logger) {
    this.#options = options;
    this.#warn = throttledWarning(logger, 'the bucket of files does not answer as it should').warn;
  }

  /** The objects whose keys begin so, in the order of their keys. */
  async *list(prefix: string, signal?: AbortSignal): AsyncGenerator<BucketObject> {
    let from: string | undefined;
    do {
      const { page, answeredAt } = await this.#listPage(prefix, from, signal);
      for (const { Key: key, Size: bytes = 0, LastModified: changed } of page.Contents ?? []) {
        if (key !== undefined) yield { key, bytes, ageMs: answeredAt - (changed?.getTime() ?? 0) };
      }
      from = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (from !== undefined);
  }

  /** A page of a list, and when the bucket answered, by its own clock, in milliseconds since 1970. */
  #listPage(prefix: string, from: string | undefined, signal: AbortSignal | undefined) {
    return this.#ask(async ({ sdk, client }) => {
      const list = new sdk.ListObjectsV2Command({
        Bucket: this.#options.name,
        Prefix: prefix,
        ContinuationToken: from,
      });
      let date: string | undefined;
      list.middlewareStack.add(
        (next) => async (args) => {
          const answer = await next(args);
          date = (answer.response as { headers?: Record<string, string> }).headers?.['date']; // of HTTP
          return answer;
        },
        { step: 'deserialize' },
      );
      const page = await client.send(list, { ...(signal && { abortSignal: signal }) });
      return { page, answeredAt: date === undefined ? Date.now() : Date.parse(date) };
    }, signal);
  }

  /** Writes some bytes of a file of this machine as an object, which is there as a whole or not at all. */
  async put(
    key: string,
    path: string,
    bytes: { from: number; to: number },
    signal?: AbortSignal,
  ): Promise<void> {
    for (let left = tries - 1; ; left -= 1) {
      try {
        await this.#tryPut(key, path, { ...bytes, signal });
        return;
      } catch (error) {
        if (left === 0 || signal?.aborted) throw error;
      }
    }
  }

  async #tryPut(
    key: string,
    path: string,
    { from, to, signal }: { from: number; to: number; signal: AbortSignal | undefined },
  ): Promise<void> {
    // A stream is read once, so each try needs its own, and nobody else closes that of one that fails.
    const body = to > from ? createReadStream(path, { start: from, end: to - 1 }) : undefined;
    const unread = new AbortController();
    // The SDK listens to no error of a body: unheard, it would end the process.
    body?.on('error', (error) => unread.abort(error));
    try {
      await this.#ask(async ({ sdk, client }) => {
        const put = new sdk.PutObjectCommand({
          Bucket: this.#options.name,
          Key: key,
          Body: body ?? '',
          ContentLength: to - from,
        });
        const requestTimeout = answerMs + (to - from) / slowestBytes;
        const abortSignal = signal ? AbortSignal.any([unread.signal, signal]) : unread.signal;
        await client.send(put, { requestTimeout, abortSignal }).catch((error: unknown) => {
          throw unread.signal.aborted ? unread.signal.reason : error;
        });
      }, signal);
    } finally {
      body?.destroy();
    }
  }

  /** Some bytes of an object. */
  async get(
    key: string,
    { from, to }: { from: number; to: number },
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    return this.#ask(async ({ sdk, client }) => {
      const asked = { Bucket: this.#options.name, Key: key, Range: `bytes=${from}-${to - 1}` };
      const { Body: body } = await client.send(new sdk.GetObjectCommand(asked), {
        ...(signal && { abortSignal: signal }),
      });
      if (!body) throw new Error(`An object without a body: ${key}`);
      if (signal) addAbortSignal(signal, body as Readable); // as Node.js has it
      return body.transformToByteArray();
    }, signal);
  }

  /** Takes an object away. One that is not there is none to take away. */
  async remove(key: string, signal?: AbortSignal): Promise<void> {
    await this.#ask(async ({ sdk, client }) => {
      const removal = new sdk.DeleteObjectCommand({ Bucket: this.#options.name, Key: key });
      await client.send(removal, { ...(signal && { abortSignal: signal }) });
    }, signal);
  }

  /** Takes away all objects whose keys begin so, or some of them, where the signal is aborted. */
  async removeAll(prefix: string, signal?: AbortSignal): Promise<void> {
    const removing = new Set<Promise<void>>();
    try {
      for await (const { key } of this.list(prefix, signal)) {
        const one: Promise<void> = this.remove(key, signal).finally(() => removing.delete(one));
        removing.add(one);
        if (removing.size === removedAtOnce) await Promise.race(removing);
      }
      await Promise.all(removing);
    } finally {
      // Nobody else hears of those that fail as well.
      await Promise.allSettled(removing);
    }
  }

  async #ask<Answer>(call: (opened: OpenedClient) => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    signal?.throwIfAborted();
    try {
      return await call(await this.#open());
    } catch (error) {
      signal?.throwIfAborted();
      this.#warn(error);
      throw new ServiceError('files_unavailable', { cause: error });
    }
  }

  #open(): Promise<OpenedClient> {
    this.#opened ??= openClient(this.#options).catch((error: unknown) => {
      this.#opened = undefined; // the next call tries again
      throw error;
    });
    return this.#opened;
  }
}

interface OpenedClient {
  sdk: typeof import('@aws-sdk/client-s3');
  client: S3Client;
}

/** Loads the SDK when the bucket is used first, so that a service without one never pays for it. */
async function openClient({
  endpoint,
  region,
  accessKeyId,
  secretAccessKey,
  pathStyle,
}: BucketOptions): Promise<OpenedClient> {
  const sdk = await import('@aws-sdk/client-s3');
  const agent = { keepAlive: true, maxSockets: callsAtOnce };
  const client = new sdk.S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
    forcePathStyle: pathStyle,
    // Servers other than that of AWS do not all know the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: answerMs,
      throwOnRequestTimeout: true,
      // An answer that falls silent in its middle ends as well.
      socketTimeout: answerMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
  });
  return { sdk, client };
}
