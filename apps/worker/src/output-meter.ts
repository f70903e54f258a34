import { type ProviderChunk, ProviderError } from '@sluice/providers';

/** Most that one answer of a model may amount to. */
export interface OutputLimits {
  /** Bytes of what the model says: texts, arguments, annotations and logprobs. */
  outputBytes: number;
  outputItems: number;
  outputEvents: number;
}

/** Bytes counted for one entry of a log probability besides its token: names, number and brackets. */
const logprobBytes = 48;

/**
 * Measures one answer against its limits, so that an upstream that does not stop fills neither this process nor the
 * store.
 *
 * The error of an answer that exceeds one names the limit. It is not worth a retry: the same answer would come again.
 */
export class OutputMeter {
  readonly #limits: OutputLimits;
  readonly #providerId: string;
  #bytes = 0;
  #events = 0;

  constructor(limits: OutputLimits, providerId: string) {
    this.#limits = limits;
    this.#providerId = providerId;
  }

  /**
   * Counts a chunk, before anything is made of it.
   *
   * @throws {ProviderError} `upstream_error` when the answer has too many bytes.
   */
  addChunk(chunk: ProviderChunk): void {
    this.#bytes += bytesOf(chunk);
    this.#check('outputBytes', this.#bytes);
  }

  /**
   * Counts what came of a chunk, after it was written.
   *
   * @throws {ProviderError} `upstream_error` when the answer has too many events or items.
   */
  addEvents(events: number, itemsSoFar: number): void {
    this.#events += events;
    this.#check('outputEvents', this.#events);
    this.#check('outputItems', itemsSoFar);
  }

  #check(name: keyof OutputLimits, amount: number): void {
    const limit = this.#limits[name];
    if (amount <= limit) return;
    throw new ProviderError('upstream_error', `Provider '${this.#providerId}' exceeded limits.${name}.`, {
      disposition: 'fail',
      publicMessage: `The answer of the model server was broken off at the limit of this server: ${limit} ${units[name]} ('limits.${name}').`,
    });
  }
}

const units: Record<keyof OutputLimits, string> = {
  outputBytes: 'bytes of output',
  outputItems: 'output items',
  outputEvents: 'events',
};

function bytesOf(chunk: ProviderChunk): number {
  switch (chunk.type) {
    case 'text': {
      let bytes = Buffer.byteLength(chunk.delta);
      for (const { token, top_logprobs: top } of chunk.logprobs ?? []) {
        bytes += logprobBytes + 4 * Buffer.byteLength(token);
        for (const each of top) bytes += logprobBytes + 4 * Buffer.byteLength(each.token);
      }
      return bytes;
    }
    case 'refusal':
    case 'reasoning_summary':
    case 'reasoning_text':
    case 'function_arguments':
    case 'custom_tool_input':
      return Buffer.byteLength(chunk.delta);
    case 'reasoning_opaque':
      return Buffer.byteLength(chunk.opaque.data);
    case 'annotation':
      return Buffer.byteLength(JSON.stringify(chunk.annotation));
    case 'function_call':
    case 'custom_tool_call':
      return Buffer.byteLength(chunk.name);
    case 'message':
    case 'reasoning':
    case 'summary_part':
    case 'usage':
    case 'finish':
      return 0;
  }
}
