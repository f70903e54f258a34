import type { Logprob } from '@sluice/contract';
import { type ProviderChunk, ProviderError } from '@sluice/providers';

/** Bounds of one answer of a model. */
export interface OutputLimits {
  /** Bytes of texts, arguments, annotations and logprobs. */
  outputBytes: number;
  outputItems: number;
  outputEvents: number;
}

/** Bytes counted for one entry of a log probability besides its token: names, number and brackets. */
const logprobBytes = 48;

/**
 * Bytes of memory of a piece of text beside its characters, and of an entry of a log probability, as measured: 15 MB took 26 MB in
 * pieces of 64 bytes, and 36 to 64 MB as log probabilities.
 */
const heldByPiece = 64;
const heldByLogprob = 208;
/** A character takes one byte or two, and a text is copied when it is put together. */
const heldByCharacter = 2;

/**
 * Measures one answer against its limits, so that an upstream that does not stop fills neither this process nor the
 * store.
 *
 * The error of an answer that exceeds a limit names it. It is not retried, because the same answer would come again.
 */
export class OutputMeter {
  readonly #limits: OutputLimits;
  readonly #providerId: string;
  #bytes = 0;
  #events = 0;
  #silentEvents = 0;
  #held = 0;

  constructor(limits: OutputLimits, providerId: string) {
    this.#limits = limits;
    this.#providerId = providerId;
  }

  /** Bytes of memory that the answer takes, as an estimate that is rather too high. */
  get held(): number {
    return this.#held;
  }

  /**
   * Counts a chunk, before events are made of it.
   *
   * @throws {ProviderError} `upstream_error` when the answer has too many bytes.
   */
  addChunk(chunk: ProviderChunk): void {
    const { bytes, held } = sizesOf(chunk);
    this.#bytes += bytes;
    this.#held += held;
    this.#check('outputBytes', this.#bytes);
  }

  /**
   * Counts the events of a chunk, after they were written.
   *
   * @throws {ProviderError} `upstream_error` when the answer has too many events or items.
   */
  addEvents(events: number, itemsSoFar: number): void {
    this.#events += events;
    this.#check('outputEvents', this.#events);
    this.#check('outputItems', itemsSoFar);
  }

  /**
   * Counts an event of the upstream that led to no chunk, of so many characters. Its reader may keep them.
   *
   * @throws {ProviderError} `upstream_error` when there are more of them than an answer may have events.
   */
  addSilent(characters: number): void {
    this.#silentEvents += 1;
    this.#held += characters;
    const { outputEvents: limit } = this.#limits;
    if (this.#silentEvents <= limit) return;
    const what = `sent more than ${limit} events without output`;
    throw new ProviderError('upstream_error', `Provider '${this.#providerId}' ${what}.`, {
      disposition: 'fail',
      publicMessage: `The model server ${what} ('limits.outputEvents').`,
    });
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

/** Control characters that JSON has no short escape for. */
const longInJson = /[\u0000-\u0007\u000b\u000e-\u001f]/;

interface Sizes {
  bytes: number;
  held: number;
}

function sizesOf(chunk: ProviderChunk): Sizes {
  switch (chunk.type) {
    case 'text':
      return chunk.logprobs?.length
        ? sizesWithLogprobs(chunk.delta, chunk.logprobs)
        : sizesOfText(chunk.delta);
    case 'refusal':
    case 'reasoning_summary':
    case 'reasoning_text':
    case 'function_arguments':
    case 'custom_tool_input':
      return sizesOfText(chunk.delta);
    case 'reasoning_opaque':
      return sizesOfText(chunk.opaque.data);
    case 'annotation':
      return sizesOfText(JSON.stringify(chunk.annotation));
    case 'function_call':
    case 'custom_tool_call':
      return sizesOfText(chunk.name);
    case 'message':
    case 'reasoning':
    case 'summary_part':
    case 'usage':
    case 'finish':
      return { bytes: 0, held: 0 };
  }
}

function sizesOfText(text: string): Sizes {
  // A control character is six in JSON, which is how the answer is written.
  const bytes = Buffer.byteLength(longInJson.test(text) ? JSON.stringify(text) : text);
  return { bytes, held: heldByPiece + heldByCharacter * text.length };
}

function sizesWithLogprobs(delta: string, logprobs: readonly Logprob[]): Sizes {
  let { bytes, held } = sizesOfText(delta);
  const add = (token: string) => {
    bytes += logprobBytes + 4 * Buffer.byteLength(token);
    held += heldByLogprob + 4 * token.length;
  };
  for (const { token, top_logprobs: top } of logprobs) {
    add(token);
    for (const each of top) add(each.token);
  }
  return { bytes, held };
}
