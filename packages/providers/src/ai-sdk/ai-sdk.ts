import type { Generation } from '@sluice/contract';
import { AllowedCalls } from '../allowed-calls.ts';
import { isObject } from '../json-fields.ts';
import { withCustomInputs } from '../openai/custom-tools.ts';
import { type Provider, type ProviderCall, type ProviderChunk, ProviderError } from '../provider.ts';
import { refuseEmbedding } from '../refused-embedding.ts';
import type { OwnTimeouts, Timeouts } from '../upstream/silence-timer.ts';
import { callOptions } from './call-options.ts';
import { CallWatch } from './call-watch.ts';
import { failureOf } from './failure.ts';
import { type ImportPackage, PackageFault } from './load-factory.ts';
import { PartReader } from './part-reader.ts';
import { SignedReasoning } from './signed-reasoning.ts';
import type { LanguageModel } from './specification.ts';
import { type FindModel, loadVendor, type VendorSettings } from './vendor-models.ts';
import { WatchedFetch } from './watched-fetch.ts';

export interface AiSdkSettings extends VendorSettings, OwnTimeouts {
  type: 'ai-sdk';
  id: string;
  /** Whether media URLs that clients name may be passed on. Default: false. See `checkMediaUrl`. */
  fetchesUrls?: boolean | undefined;
}

/** Any vendor with a package of the AI SDK, which speaks the vendor's own API. The operator installs the package. */
export function aiSdk(settings: AiSdkSettings, timeouts: Timeouts, importPackage?: ImportPackage): Provider {
  return new AiSdkProvider(settings, timeouts, importPackage);
}

/**
 * Why the package of a provider cannot be used, in a sentence for the operator; undefined when it can. Loads the package
 * and makes no request.
 */
export async function faultOfPackage(settings: VendorSettings): Promise<string | undefined> {
  try {
    await loadVendor(settings, undefined);
    return undefined;
  } catch (error) {
    if (error instanceof PackageFault) return error.message;
    throw error;
  }
}

class AiSdkProvider implements Provider {
  readonly id: string;
  readonly #settings: AiSdkSettings;
  readonly #timeouts: Timeouts;
  readonly #fetch: WatchedFetch;
  readonly #importPackage: ImportPackage | undefined;
  readonly #running = new Set<Promise<void>>();
  #vendor: Promise<FindModel> | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: AiSdkSettings, timeouts: Timeouts, importPackage: ImportPackage | undefined) {
    this.id = settings.id;
    this.#settings = settings;
    this.#timeouts = timeouts;
    this.#fetch = new WatchedFetch(timeouts);
    this.#importPackage = importPackage;
  }

  async *generate(
    generation: Generation,
    call: ProviderCall,
  ): AsyncGenerator<ProviderChunk, void, undefined> {
    call.signal.throwIfAborted();
    refuseEmbedding(generation, this.id);
    if (this.#closing) {
      throw new ProviderError('upstream_error', `Provider '${this.id}' is closed.`, { disposition: 'retry' });
    }
    const over = Promise.withResolvers<void>();
    this.#running.add(over.promise);
    const watch = new CallWatch({ providerId: this.id, timeouts: this.#timeouts, signal: call.signal });
    const reader = withCustomInputs(
      new PartReader(this.id, new SignedReasoning(generation, this.id), generation.stop),
      generation.tools,
    );
    const calls = new AllowedCalls(generation);
    let parts: ReadableStreamDefaultReader<unknown> | undefined;
    let isComplete = false;
    try {
      parts = await this.#open(generation, call, watch);
      for (;;) {
        const part = await this.#next(parts, watch);
        if (part === undefined) break;
        const chunks = reader.read(part.value);
        watch.took({ isEvent: !isPing(part.value), hasOutput: chunks.length > 0 });
        let hasOutput = false;
        for (const chunk of chunks) {
          const admitted = calls.admit(chunk);
          if (!admitted) continue;
          hasOutput = true;
          yield admitted;
        }
        if (hasOutput) watch.resumed();
        const pause = call.pace?.took(watch.takeReceived(), { hasOutput });
        if (pause) await pause;
        call.signal.throwIfAborted();
        if (reader.state === 'finished') watch.closing();
      }
      isComplete = true;
      for (const chunk of reader.end()) {
        const admitted = calls.admit(chunk);
        if (admitted) yield admitted;
      }
    } catch (error) {
      call.signal.throwIfAborted();
      throw watch.failure ?? failureOf(this.id, error, watch.progress);
    } finally {
      watch.release({ isComplete });
      // Frees the resources of a package that does not heed the signal. Nobody waits for it.
      if (!isComplete) parts?.cancel().catch(() => undefined);
      this.#running.delete(over.promise);
      over.resolve();
    }
  }

  /** Loads the package. Says why it cannot be used, if it cannot. */
  async prepare(): Promise<string | undefined> {
    try {
      await this.#loaded();
      return undefined;
    } catch (error) {
      if (error instanceof PackageFault) return `Provider '${this.id}': ${error.message}`;
      throw error;
    }
  }

  /** Refuses new calls, waits for the running ones, and closes every connection. Safe to call twice. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      await Promise.all(this.#running);
      await this.#fetch.close();
    })();
    return this.#closing;
  }

  async #open(
    generation: Generation,
    { model: modelName, traceparent }: ProviderCall,
    watch: CallWatch,
  ): Promise<ReadableStreamDefaultReader<unknown>> {
    const model = await watch.race(this.#model(modelName));
    const options = callOptions(generation, {
      providerId: this.id,
      fetchesUrls: this.#settings.fetchesUrls ?? false,
      specificationVersion: model.specificationVersion,
      takesCacheMarks: this.#settings.package === '@ai-sdk/anthropic',
    });
    const told = traceparent === undefined ? {} : { headers: { traceparent } };
    const opening = this.#fetch.run(watch, () =>
      model.doStream({ ...options, ...told, abortSignal: watch.signal }),
    );
    const { stream } = await watch.race(opening);
    return stream.getReader();
  }

  /** The next part; undefined at the end of the stream, which is not waited for long after a finish. */
  async #next(
    parts: ReadableStreamDefaultReader<unknown>,
    watch: CallWatch,
  ): Promise<{ value: unknown } | undefined> {
    try {
      const { done, value } = await watch.race(this.#fetch.run(watch, () => parts.read()));
      return done ? undefined : { value };
    } catch (error) {
      if (watch.isClosing) return undefined;
      throw error;
    }
  }

  /** The package is loaded once. */
  #loaded(): Promise<FindModel> {
    this.#vendor ??= loadVendor(this.#settings, this.#fetch.fetch, this.#importPackage);
    return this.#vendor;
  }

  async #model(name: string): Promise<LanguageModel> {
    try {
      const find = await this.#loaded();
      return find(name);
    } catch (error) {
      if (!(error instanceof PackageFault)) throw error;
      // The sentence names the package, which is the operator's own.
      throw new ProviderError('upstream_error', `Provider '${this.id}': ${error.message}`, {
        disposition: 'fail',
      });
    }
  }
}

/** Parts that only keep a connection alive, like comments of a stream. */
function isPing(part: unknown): boolean {
  return isObject(part) && (part['type'] === 'ping' || part['type'] === 'raw');
}
