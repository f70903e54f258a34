import { type JsonObject, textOf } from '../json-fields.ts';
import type { ProviderChunk } from '../provider.ts';
import { brokenStream } from '../upstream/failure.ts';

/**
 * Assembles the calls of one stream.
 *
 * A call comes in pieces and then again as a whole, or as a whole alone. Calls that the vendor runs itself are left out.
 * Pieces of an input that is not JSON are left out as well; the whole input is passed on as JSON.
 */
export class SdkCalls {
  readonly #providerId: string;
  /** How much of each open call has been sent, by the package's id. */
  readonly #open = new Map<string, { callKey: string; hasArguments: boolean; isPassedOn: boolean }>();
  readonly #usedIds = new Set<string>();
  #count = 0;

  constructor(providerId: string) {
    this.#providerId = providerId;
  }

  /** Reads a `tool-input-start`, a `tool-input-delta` or a `tool-call`. */
  read(part: JsonObject): ProviderChunk[] {
    switch (part['type']) {
      case 'tool-input-start':
        return this.#start(part, textOf(part['id']));
      case 'tool-input-delta':
        return this.#more(part);
      default:
        return this.#whole(part);
    }
  }

  #start(part: JsonObject, id: string | undefined): ProviderChunk[] {
    const name = textOf(part['toolName']);
    if (id === undefined || name === undefined) throw this.#malformed();
    const isPassedOn = part['providerExecuted'] !== true;
    const callKey = String(this.#count);
    this.#count += 1;
    const isText = part['inputEncoding'] === 'text';
    this.#open.set(id, { callKey, hasArguments: false, isPassedOn: isPassedOn && !isText });
    if (isText || !isPassedOn) return [];
    return [{ type: 'function_call', callKey, name, ...this.#callId(id) }];
  }

  #more(part: JsonObject): ProviderChunk[] {
    const call = this.#open.get(textOf(part['id']) ?? '');
    const delta = part['delta'];
    if (typeof delta !== 'string') throw this.#malformed();
    if (!call?.isPassedOn || delta === '') return [];
    call.hasArguments = true;
    return [{ type: 'function_arguments', callKey: call.callKey, delta }];
  }

  #whole(part: JsonObject): ProviderChunk[] {
    const id = textOf(part['toolCallId']);
    if (id === undefined) throw this.#malformed();
    const begun = this.#open.get(id);
    this.#open.delete(id);
    if (part['providerExecuted'] === true) return [];
    const chunks: ProviderChunk[] = [];
    let call = begun;
    if (!call?.isPassedOn) {
      chunks.push(...this.#start({ ...part, inputEncoding: 'json' }, id));
      call = this.#open.get(id);
      this.#open.delete(id);
    }
    if (!call || call.hasArguments) return chunks;
    // Arguments must be JSON, also those of a tool without parameters.
    const delta = argumentsOf(part['input']);
    return [...chunks, { type: 'function_arguments', callKey: call.callKey, delta }];
  }

  /** Leaves out an id that a client could not send back or that two calls share; the worker then makes one. */
  #callId(id: string): { callId?: string } {
    if (id.length > 64 || this.#usedIds.has(id)) return {};
    this.#usedIds.add(id);
    return { callId: id };
  }

  #malformed() {
    return brokenStream(this.#providerId, 'sent a malformed call');
  }
}

function argumentsOf(input: unknown): string {
  if (typeof input === 'string') return input.trim() === '' ? '{}' : input;
  return JSON.stringify(input ?? {});
}
