import { isObject, type JsonObject, objectOf, textOf } from '../json-fields.ts';
import type { ProviderChunk } from '../provider.ts';

interface Call {
  callKey: string;
  /** The upstream's id; tells calls apart that share an index. */
  id: string | undefined;
  name: string;
  /** Arguments that arrived before the name was complete. */
  pending: string;
  isOpen: boolean;
}

/**
 * Assembles the tool calls of one chat stream from their pieces.
 *
 * Servers differ. Some number parallel calls, some give all of them the index 0 and an id each, some send neither. A
 * name comes whole, in pieces, or again with every piece. Arguments come as text, as one object, or not at all. A call
 * is opened once its name is complete: when arguments arrive, when another part of the answer begins, or at the end.
 *
 * A piece costs the same however many calls came before it: an upstream decides how many there are.
 */
export class ChatCalls {
  #count = 0;
  #latest: Call | undefined;
  /** The latest call of each index. */
  readonly #byIndex = new Map<number, Call>();
  /** The latest call of each id. */
  readonly #byId = new Map<string, Call>();
  readonly #withoutArguments = new Set<Call>();
  /** How many calls have no name yet. */
  #nameless = 0;
  /** The call that the last piece belonged to. Every other call that has a name is open. */
  #current: Call | undefined;
  readonly #usedIds = new Set<string>();

  /** Reads one element of `delta.tool_calls`. */
  read(piece: JsonObject): ProviderChunk[] {
    const fields = objectOf(piece['function']) ?? {};
    const name = textOf(fields['name']) ?? '';
    const call = this.#callOf(piece, name !== '');
    const chunks = call === this.#current ? [] : this.flush();
    this.#current = call;
    if (!call.isOpen && name !== call.name) this.#extendName(call, name);
    const args = argumentsOf(fields['arguments']);
    if (args === '') return chunks;
    if (!call.isOpen && call.name === '') {
      call.pending += args;
      return chunks;
    }
    chunks.push(...this.#open(call));
    this.#withoutArguments.delete(call);
    chunks.push({ type: 'function_arguments', callKey: call.callKey, delta: args });
    return chunks;
  }

  /** Opens the call that was read last, because something else begins and so its name is complete. */
  flush(): ProviderChunk[] {
    return this.#current && this.#current.name !== '' ? this.#open(this.#current) : [];
  }

  /** Whether a call got no name, so that no client could run it. */
  get hasNamelessCall(): boolean {
    return this.#nameless > 0;
  }

  /** Opens the last call. A call without arguments gets an empty object, because arguments must be JSON. */
  end(): ProviderChunk[] {
    const chunks = this.flush();
    for (const call of this.#withoutArguments) {
      if (call.name !== '') chunks.push({ type: 'function_arguments', callKey: call.callKey, delta: '{}' });
    }
    this.#withoutArguments.clear();
    return chunks;
  }

  #callOf(piece: JsonObject, hasName: boolean): Call {
    const id = textOf(piece['id']);
    const index = typeof piece['index'] === 'number' ? piece['index'] : undefined;
    const known = index === undefined ? this.#knownCall(id, hasName) : this.#byIndex.get(index);
    const isAnother = known && hasName && id !== undefined && known.id !== undefined && known.id !== id;
    if (known && !isAnother) return known;
    const call: Call = {
      callKey: String(this.#count),
      id,
      name: '',
      pending: '',
      isOpen: false,
    };
    this.#count += 1;
    this.#nameless += 1;
    this.#latest = call;
    this.#withoutArguments.add(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    if (id !== undefined) this.#byId.set(id, call);
    return call;
  }

  /** Without an index, the id decides. With neither, a name begins a call and anything else continues the last one. */
  #knownCall(id: string | undefined, hasName: boolean): Call | undefined {
    if (id !== undefined) return this.#byId.get(id);
    return hasName ? undefined : this.#latest;
  }

  #extendName(call: Call, name: string): void {
    if (call.name === '') this.#nameless -= 1;
    call.name += name;
  }

  #open(call: Call): ProviderChunk[] {
    if (call.isOpen) return [];
    call.isOpen = true;
    const { callKey, name, pending } = call;
    const chunks: ProviderChunk[] = [{ type: 'function_call', callKey, name, ...this.#callId(call.id) }];
    if (pending !== '') {
      this.#withoutArguments.delete(call);
      chunks.push({ type: 'function_arguments', callKey, delta: pending });
    }
    return chunks;
  }

  /** Leaves out an id that a client could not send back or that two calls share; the worker then makes one. */
  #callId(id: string | undefined): { callId?: string } {
    if (id === undefined || id.length > 64 || this.#usedIds.has(id)) return {};
    this.#usedIds.add(id);
    return { callId: id };
  }
}

function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isObject(value) ? JSON.stringify(value) : '';
}
