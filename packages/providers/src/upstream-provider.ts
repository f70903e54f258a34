import type { Generation } from '@sluice/contract';
import { AllowedCalls } from './allowed-calls.ts';
import type { Timeouts, UpstreamEvent } from './event-stream.ts';
import { HttpUpstream, type HttpUpstreamSettings } from './http-upstream.ts';
import type { Provider, ProviderCall, ProviderChunk } from './provider.ts';

/** What an upstream's API has that others have not: its route, its request and its events. */
export interface Dialect {
  readonly path: string;
  /** See `EventStreamOptions.repeatsAnswer`. */
  readonly repeatsAnswer: boolean;
  /** @throws {ProviderError} `invalid_prompt` for what this API cannot carry. */
  requestBody(generation: Generation, model: string): Record<string, unknown>;
  /** Bytes of the request that events of the answer repeat. */
  echoBytes(generation: Generation): number;
  /** A reader for one answer. */
  reader(generation: Generation): EventReader;
}

/** Turns the events of one answer into chunks. */
export interface EventReader {
  /**
   * `finished` once the model has said why it stopped: then the connection's end is no failure any more.
   * `done` when nothing can follow.
   */
  readonly state: 'open' | 'finished' | 'done';
  /** @throws {ProviderError} for an error object, and for an event that is none. */
  read(event: UpstreamEvent): ProviderChunk[];
  /**
   * The chunks that only the end of the stream could tell, usage and finish among them.
   *
   * @throws {ProviderError} when the model never said that it finished.
   */
  end(): ProviderChunk[];
}

/** A provider over HTTP. What differs between APIs is its dialect; the rest is here, once. */
export class UpstreamProvider implements Provider {
  readonly id: string;
  readonly #upstream: HttpUpstream;
  readonly #dialect: Dialect;

  constructor(settings: HttpUpstreamSettings, timeouts: Timeouts, dialect: Dialect) {
    this.id = settings.id;
    this.#upstream = new HttpUpstream(settings, timeouts);
    this.#dialect = dialect;
  }

  async *generate(
    generation: Generation,
    call: ProviderCall,
  ): AsyncGenerator<ProviderChunk, void, undefined> {
    call.signal.throwIfAborted();
    const dialect = this.#dialect;
    const body = JSON.stringify(dialect.requestBody(generation, call.model));
    const reader = dialect.reader(generation);
    const calls = new AllowedCalls(generation);
    const stream = this.#upstream.open({
      path: dialect.path,
      body,
      signal: call.signal,
      echoBytes: dialect.echoBytes(generation),
      repeatsAnswer: dialect.repeatsAnswer,
    });
    try {
      for (;;) {
        const events = await stream.take();
        if (!events) break;
        for (const event of events) {
          const chunks = reader.read(event);
          if (chunks.length > 0) stream.answering();
          for (const chunk of chunks) {
            const admitted = calls.admit(chunk);
            if (admitted) yield admitted;
          }
          call.signal.throwIfAborted();
          if (reader.state === 'done') break;
        }
        if (reader.state === 'done') break;
        if (reader.state === 'finished') stream.closing();
      }
      for (const chunk of reader.end()) {
        const admitted = calls.admit(chunk);
        if (admitted) yield admitted;
      }
    } finally {
      stream.release(reader.state === 'done');
    }
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }
}
