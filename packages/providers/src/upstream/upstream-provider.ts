import type { EmbeddingRequest, Generation } from '@sluice/contract';
import { isLong, printLong } from '@sluice/contract/print-long';
import { AllowedCalls } from '../allowed-calls.ts';
import { embed } from '../openai/embeddings.ts';
import type { EventStream, UpstreamEvent } from './event-stream.ts';
import type { Timeouts } from './silence-timer.ts';
import { HttpUpstream, type HttpUpstreamSettings } from './http-upstream.ts';
import type { Provider, ProviderCall, ProviderChunk } from '../provider.ts';

/** The parts that are specific to the API of an upstream: its route, its request and its events. */
export interface WireProtocol {
  readonly path: string;
  /** See `EventStreamOptions.repeatsAnswer`. */
  readonly repeatsAnswer: boolean;
  /** @throws {ProviderError} `invalid_prompt` for content that this API cannot carry. */
  requestBody(generation: Generation, model: string): Record<string, unknown>;
  /** How many bytes of the request an event of the answer may repeat. */
  echoBytes(generation: Generation): number;
  /** A reader for one answer. */
  reader(generation: Generation): EventReader;
}

/** Turns the events of one answer into chunks. */
export interface EventReader<Event = UpstreamEvent> {
  /**
   * `finished` once the model has said why it stopped; from then on the end of the connection is not a failure.
   * `done` when nothing can follow.
   */
  readonly state: 'open' | 'finished' | 'done';
  /** @throws {ProviderError} for an error object and for a malformed event. */
  read(event: Event): ProviderChunk[];
  /**
   * The chunks that are known only at the end of the stream, such as usage and finish.
   *
   * @throws {ProviderError} when the model never said that it finished.
   */
  end(): ProviderChunk[];
}

/** A provider over HTTP. The protocol holds what differs between APIs; everything else is here. */
export class UpstreamProvider implements Provider {
  readonly id: string;
  readonly #upstream: HttpUpstream;
  readonly #protocol: WireProtocol;

  constructor(settings: HttpUpstreamSettings, timeouts: Timeouts, protocol: WireProtocol) {
    this.id = settings.id;
    this.#upstream = new HttpUpstream(settings, timeouts);
    this.#protocol = protocol;
  }

  async *generate(
    generation: Generation,
    call: ProviderCall,
  ): AsyncGenerator<ProviderChunk, void, undefined> {
    call.signal.throwIfAborted();
    if (generation.embedding) {
      yield* this.#embed(generation, generation.embedding, call);
      return;
    }
    const reader = this.#protocol.reader(generation);
    const calls = new AllowedCalls(generation);
    const stream = await this.#ask(generation, call);
    try {
      for (;;) {
        const events = await stream.take();
        if (!events) break;
        for (const event of events) {
          const chunks = reader.read(event);
          if (chunks.length > 0) stream.answering();
          let hasOutput = false;
          for (const chunk of chunks) {
            const admitted = calls.admit(chunk);
            if (!admitted) continue;
            hasOutput = true;
            yield admitted;
          }
          const pause = call.pace?.took(event.data.length, { hasOutput });
          if (pause) await pause;
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

  async *#embed(
    generation: Generation,
    embedding: EmbeddingRequest,
    call: ProviderCall,
  ): AsyncGenerator<ProviderChunk, void, undefined> {
    const { signal, traceparent } = call;
    const leave = this.#upstream.begin();
    try {
      yield* embed(generation, embedding, {
        providerId: this.id,
        call,
        ask: (path, body) => this.#upstream.ask({ path, body, signal, traceparent }),
      });
    } finally {
      leave();
    }
  }

  /** Sends the request. What was sent is kept by nobody while the answer is read. */
  async #ask(generation: Generation, call: ProviderCall): Promise<EventStream> {
    const protocol = this.#protocol;
    const leave = this.#upstream.begin();
    try {
      const form = protocol.requestBody(generation, call.model);
      const body = isLong(form) ? await printLong(form) : JSON.stringify(form);
      call.signal.throwIfAborted();
      return this.#upstream.open({
        path: protocol.path,
        body,
        signal: call.signal,
        traceparent: call.traceparent,
        echoBytes: protocol.echoBytes(generation),
        repeatsAnswer: protocol.repeatsAnswer,
        pace: call.pace,
      });
    } finally {
      leave();
    }
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }
}
