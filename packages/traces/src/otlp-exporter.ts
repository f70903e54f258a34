import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';

export interface OtlpOptions {
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  protocol: 'http/protobuf' | 'http/json';
  compression: 'gzip' | 'none';
  timeoutMs: number;
}

/**
 * Sends spans to an OTLP receiver over HTTP. What it does not take in time, or refuses, is dropped: a receiver that is away for
 * long would only get what nobody looks at any more, and holding it would cost memory.
 *
 * The exporter of OpenTelemetry waits and tries again for ten seconds, and nothing ends that: a process that stops would wait
 * for it.
 */
export class OtlpExporter implements SpanExporter {
  readonly #options: OtlpOptions;
  readonly #onTaken: (spans: number) => void;
  readonly #onDropped: (error: unknown, spans: number) => void;
  readonly #underWay = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  /** `onTaken` is told of spans that wait no more, whatever becomes of them. */
  constructor(
    options: OtlpOptions,
    {
      onTaken,
      onDropped,
    }: { onTaken: (spans: number) => void; onDropped: (error: unknown, spans: number) => void },
  ) {
    this.#options = options;
    this.#onTaken = onTaken;
    this.#onDropped = onDropped;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#onTaken(spans.length);
    const over = this.#trySend(spans, done).finally(() => this.#underWay.delete(over));
    this.#underWay.add(over);
  }

  async forceFlush(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Resolves when nothing is under way any more; `abort` ends it early. */
  async shutdown(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Drops what is under way. */
  abort(): void {
    this.#stopping.abort(new Error('The process stops'));
  }

  async #trySend(spans: ReadableSpan[], done: (result: ExportResult) => void): Promise<void> {
    let code = ExportResultCode.SUCCESS;
    try {
      await this.#send(spans);
    } catch (error) {
      code = ExportResultCode.FAILED;
      this.#onDropped(error, spans.length);
    }
    done({ code });
  }

  async #send(spans: ReadableSpan[]): Promise<void> {
    const { endpoint, headers, protocol, compression, timeoutMs } = this.#options;
    const isJson = protocol === 'http/json';
    const body = (isJson ? JsonTraceSerializer : ProtobufTraceSerializer).serializeRequest(spans);
    if (!body) throw new TypeError('The spans could not be written');
    const isGzip = compression === 'gzip';
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': isJson ? 'application/json' : 'application/x-protobuf',
        ...(isGzip && { 'content-encoding': 'gzip' }),
      },
      body: new Uint8Array(isGzip ? await gzipped(body) : body),
      redirect: 'manual',
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#stopping.signal]),
    });
    // Its words are not needed, and its connection is.
    await response.body?.pipeTo(new WritableStream());
    if (!response.ok) throw new Error(`The receiver of traces answered ${response.status}`);
  }
}

const gzipped = promisify(gzip);
