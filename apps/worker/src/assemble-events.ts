import {
  closeItem,
  closeOpenPart,
  closeSilently,
  emptyOutput,
  track,
  newCallId,
  newItemId,
  type OpaqueReasoning,
  type OpenOutput,
  type OutputItem,
  type RandomBytes,
  type UnnumberedEvent,
  type Usage,
} from '@sluice/contract';
import type { FinishReason, ProviderChunk } from '@sluice/providers';
import { emptyPart, type PartKind } from './empty-part.ts';

type OpenContent = {
  kind: 'message' | 'reasoning';
  index: number;
  part: PartKind | undefined;
  counts: { summary: number; content: number };
  /** Data that the upstream wants back with the reasoning. */
  opaque?: OpaqueReasoning;
};

/** Seals reasoning for the client to keep; undefined when it is too long for that. */
export type SealReasoning = (reasoning: {
  text: string;
  opaque: OpaqueReasoning | undefined;
}) => string | undefined;

/**
 * Turns a provider's chunks into the events of a response, and keeps the output that they make.
 *
 * Pure but for the random ids and what is sealed. Items open and close as the kinds of chunks change: a message or a reasoning
 * closes when anything else begins; function calls stay open until the end, because some upstreams interleave
 * the arguments of parallel calls.
 */
export class Assembler {
  readonly #output: OpenOutput = emptyOutput();
  readonly #responseId: string;
  readonly #randomBytes: RandomBytes;
  readonly #parallelCalls: boolean;
  readonly #isFollowed: boolean;
  readonly #sealReasoning: SealReasoning | undefined;
  /** Index of the call each key opened; undefined for a call that may not be made. */
  readonly #calls = new Map<string, number | undefined>();
  #hasCall = false;
  #content: OpenContent | undefined;
  #phase: 'commentary' | 'final_answer' | undefined;
  #usage: Usage | null = null;
  #finish: Extract<ProviderChunk, { type: 'finish' }> | undefined;

  /**
   * `isFollowed`: whether anybody will see the events. Otherwise they are not kept apart from the output. `sealReasoning` is
   * given where the client wants reasoning that it can send back.
   */
  constructor(options: {
    responseId: string;
    randomBytes: RandomBytes;
    parallelCalls: boolean;
    isFollowed: boolean;
    sealReasoning?: SealReasoning | undefined;
  }) {
    this.#responseId = options.responseId;
    this.#randomBytes = options.randomBytes;
    this.#parallelCalls = options.parallelCalls;
    this.#isFollowed = options.isFollowed;
    this.#sealReasoning = options.sealReasoning;
  }

  get finish(): FinishReason | undefined {
    return this.#finish?.reason;
  }

  /** The text of `stop` before which the model has stopped, if its upstream says so. */
  get stopSequence(): string | undefined {
    return this.#finish?.stopSequence;
  }

  /** The output of the chunks so far, with the items that are still open. */
  get output(): OpenOutput {
    return this.#output;
  }

  /** The token counts of the upstream; null before it has reported them. */
  get usage(): Usage | null {
    return this.#usage;
  }

  get hasOutput(): boolean {
    return this.#output.fold.items.length > 0;
  }

  /** The events a chunk leads to, in order. */
  push(chunk: ProviderChunk): UnnumberedEvent[] {
    switch (chunk.type) {
      case 'message':
        this.#phase = chunk.phase;
        return this.#closeContent();
      case 'reasoning':
        return this.#closeContent();
      case 'summary_part':
        return this.#content?.kind === 'reasoning' ? this.#closePart(this.#content) : [];
      case 'text': {
        const { delta, logprobs = [] } = chunk;
        if (delta === '' && logprobs.length === 0) return [];
        const { events, at } = this.#openPart('message', 'output_text');
        return [...events, this.#emit({ type: 'response.output_text.delta', ...at, delta, logprobs })];
      }
      case 'annotation': {
        const { events, at } = this.#openPart('message', 'output_text');
        const annotation_index = this.#annotations(at.output_index, at.content_index);
        const { annotation } = chunk;
        return [
          ...events,
          this.#emit({ type: 'response.output_text.annotation.added', ...at, annotation_index, annotation }),
        ];
      }
      case 'refusal': {
        const { events, at } = this.#openPart('message', 'refusal');
        return [...events, this.#emit({ type: 'response.refusal.delta', ...at, delta: chunk.delta })];
      }
      case 'reasoning_text': {
        const { events, at } = this.#openPart('reasoning', 'reasoning_text');
        return [...events, this.#emit({ type: 'response.reasoning_text.delta', ...at, delta: chunk.delta })];
      }
      case 'reasoning_summary': {
        // In one item the summary comes before the content, so a later summary begins another item.
        const closed = (this.#content?.counts.content ?? 0) > 0 ? this.#closeContent() : [];
        const { events, at } = this.#openPart('reasoning', 'summary_text');
        const { content_index: summary_index, ...inItem } = at;
        const said = { ...inItem, summary_index, delta: chunk.delta };
        const delta = this.#emit({ type: 'response.reasoning_summary_text.delta', ...said });
        return [...closed, ...events, delta];
      }
      case 'reasoning_opaque':
        return this.#addOpaque(chunk.opaque);
      case 'function_call':
      case 'custom_tool_call':
        return this.#openCall(chunk);
      case 'function_arguments':
        return this.#addToCall(chunk, 'response.function_call_arguments.delta');
      case 'custom_tool_input':
        return this.#addToCall(chunk, 'response.custom_tool_call_input.delta');
      case 'usage':
        this.#usage = chunk.usage;
        return [];
      case 'finish':
        this.#finish = chunk;
        // Reasoning that was cut off is not sealed: its rest is missing.
        return chunk.reason === 'max_output_tokens' ? [] : this.#closeReasoning();
    }
  }

  #addOpaque(opaque: OpaqueReasoning): UnnumberedEvent[] {
    const events: UnnumberedEvent[] = [];
    if (this.#content?.kind !== 'reasoning') {
      events.push(...this.#closeContent(), this.#openContent('reasoning'));
    }
    this.#openedContent().opaque = opaque;
    return events;
  }

  #openCall(
    chunk: Extract<ProviderChunk, { type: 'function_call' | 'custom_tool_call' }>,
  ): UnnumberedEvent[] {
    if (this.#hasCall && !this.#parallelCalls) {
      this.#calls.set(chunk.callKey, undefined);
      return [];
    }
    this.#hasCall = true;
    const events = this.#closeContent();
    const index = this.#output.fold.items.length;
    this.#calls.set(chunk.callKey, index);
    const call = {
      id: newItemId(chunk.type, this.#responseId, this.#randomBytes),
      call_id: chunk.callId ?? newCallId(this.#randomBytes),
      name: chunk.name,
      status: 'in_progress',
    } as const;
    const item: OutputItem =
      chunk.type === 'function_call'
        ? { type: chunk.type, ...call, arguments: '' }
        : { type: chunk.type, ...call, input: '' };
    return [...events, this.#emit({ type: 'response.output_item.added', output_index: index, item })];
  }

  #addToCall(
    { callKey, delta }: { callKey: string; delta: string },
    type: 'response.function_call_arguments.delta' | 'response.custom_tool_call_input.delta',
  ): UnnumberedEvent[] {
    const index = this.#calls.get(callKey);
    const item = index === undefined ? undefined : this.#output.fold.items[index];
    if (index === undefined || !item) return [];
    return [this.#emit({ type, item_id: item.id, output_index: index, delta })];
  }

  /** Makes sure a part of this kind is open to take a delta. */
  #openPart(kind: OpenContent['kind'], part: PartKind) {
    const events: UnnumberedEvent[] = [];
    if (this.#content && this.#content.kind !== kind) events.push(...this.#closeContent());
    if (!this.#content) events.push(this.#openContent(kind));
    const content = this.#openedContent();
    if (content.part !== part) {
      events.push(...this.#closePart(content));
      events.push(this.#addPart(content, part));
    }
    return { events, at: this.#place(content, part) };
  }

  #openContent(kind: OpenContent['kind']): UnnumberedEvent {
    const index = this.#output.fold.items.length;
    const id = newItemId(kind, this.#responseId, this.#randomBytes);
    this.#content = { kind, index, part: undefined, counts: { summary: 0, content: 0 } };
    const item: OutputItem =
      kind === 'message'
        ? {
            type: 'message',
            id,
            status: 'in_progress',
            role: 'assistant',
            content: [],
            ...(this.#phase && { phase: this.#phase }),
          }
        : { type: 'reasoning', id, status: 'in_progress', summary: [] };
    return this.#emit({ type: 'response.output_item.added', output_index: index, item });
  }

  #addPart(content: OpenContent, part: PartKind): UnnumberedEvent {
    content.part = part;
    content.counts[part === 'summary_text' ? 'summary' : 'content'] += 1;
    const at = this.#place(content, part);
    if (part === 'summary_text') {
      const { content_index: summary_index, ...inItem } = at;
      const added = { ...inItem, summary_index, part: { type: part, text: '' } } as const;
      return this.#emit({ type: 'response.reasoning_summary_part.added', ...added });
    }
    return this.#emit({ type: 'response.content_part.added', ...at, part: emptyPart(part) });
  }

  /** Where a part stands. A reasoning's summary and its content are counted apart. */
  #place(content: OpenContent, part: PartKind) {
    const item = this.#output.fold.items[content.index];
    const count = content.counts[part === 'summary_text' ? 'summary' : 'content'];
    return { item_id: item?.id ?? '', output_index: content.index, content_index: count - 1 };
  }

  #closePart(content: OpenContent): UnnumberedEvent[] {
    if (content.part === undefined) return [];
    content.part = undefined;
    if (!this.#isFollowed) return [];
    return closeOpenPart(this.#output, content.index).map((event) => this.#emit(event, true));
  }

  #closeContent(): UnnumberedEvent[] {
    if (!this.#content) return [];
    const { index, opaque } = this.#content;
    this.#content = undefined;
    this.#seal(index, opaque);
    if (this.#isFollowed)
      return closeItem(this.#output, index, 'completed').map((event) => this.#emit(event, true));
    closeSilently(this.#output, index, 'completed');
    return [];
  }

  #closeReasoning(): UnnumberedEvent[] {
    return this.#content?.kind === 'reasoning' ? this.#closeContent() : [];
  }

  /** Seals finished reasoning, so that its client can send it back. */
  #seal(index: number, opaque: OpaqueReasoning | undefined): void {
    const item = this.#output.fold.items[index];
    if (item?.type !== 'reasoning' || !this.#sealReasoning) return;
    const text = (item.content ?? []).map((part) => part.text).join('');
    const sealed = this.#sealReasoning({ text, opaque });
    if (sealed !== undefined) item.encrypted_content = sealed;
  }

  #openedContent(): OpenContent {
    if (!this.#content) throw new Error('No content is open');
    return this.#content;
  }

  #annotations(outputIndex: number, contentIndex: number): number {
    const item = this.#output.fold.items[outputIndex];
    const part = item?.type === 'message' ? item.content[contentIndex] : undefined;
    return part?.type === 'output_text' ? part.annotations.length : 0;
  }

  /** Nothing changes a finished item, so its event shares it with the output. */
  #emit<Event extends UnnumberedEvent>(event: Event, isDone = false): Event {
    track(this.#output, event, isDone || !this.#isFollowed);
    return event;
  }
}
