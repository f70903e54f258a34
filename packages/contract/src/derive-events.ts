import { closeItem, emptyOutput, track, type OpenOutput } from './close-items.ts';
import { errorEvent } from './error-event.ts';
import type { UnnumberedEvent } from './events.ts';
import { type ContentPart, isToolCall, type OutputItem } from './output.ts';
import type { ResponseEnd } from './response.ts';

/**
 * Makes the content events of a response that was not logged as a stream. Each part of an item has a single delta, as
 * if the model had produced it in one piece. The same response always gives the same events.
 */
export function deriveEvents({ output, error }: Pick<ResponseEnd, 'output' | 'error'>): UnnumberedEvent[] {
  const derived = new Derivation();
  output.forEach((item, index) => derived.add(item, index));
  if (error) derived.emit(errorEvent(error));
  return derived.events;
}

class Derivation {
  readonly events: UnnumberedEvent[] = [];
  readonly #output: OpenOutput = emptyOutput();

  emit(event: UnnumberedEvent): void {
    track(this.#output, event);
    this.events.push(event);
  }

  add(item: OutputItem, index: number): void {
    this.emit({ type: 'response.output_item.added', output_index: index, item: emptied(item) });
    const at = { item_id: item.id, output_index: index };
    if (item.type === 'function_call') {
      this.emit({ type: 'response.function_call_arguments.delta', ...at, delta: item.arguments });
    }
    if (item.type === 'custom_tool_call') {
      this.emit({ type: 'response.custom_tool_call_input.delta', ...at, delta: item.input });
    }
    if (item.type === 'reasoning') this.#addSummary(item, at);
    const content = isToolCall(item) ? [] : (item.content ?? []);
    content.forEach((part, content_index) => this.#addPart(part, { ...at, content_index }));
    sealAtEnd(this.#output.fold.items[index], item);
    for (const event of closeItem(
      this.#output,
      index,
      item.status === 'incomplete' ? 'incomplete' : 'completed',
    )) {
      this.emit(event);
    }
  }

  #addSummary(
    item: Extract<OutputItem, { type: 'reasoning' }>,
    at: { item_id: string; output_index: number },
  ) {
    item.summary.forEach(({ type, text }, summary_index) => {
      const inSummary = { ...at, summary_index };
      this.emit({ type: 'response.reasoning_summary_part.added', ...inSummary, part: { type, text: '' } });
      if (text !== '')
        this.emit({ type: 'response.reasoning_summary_text.delta', ...inSummary, delta: text });
      this.emit({ type: 'response.reasoning_summary_text.done', ...inSummary, text });
      this.emit({ type: 'response.reasoning_summary_part.done', ...inSummary, part: { type, text } });
    });
  }

  #addPart(part: ContentPart, at: { item_id: string; output_index: number; content_index: number }): void {
    switch (part.type) {
      case 'output_text': {
        const { text, annotations, logprobs } = part;
        const empty = { type: part.type, text: '', annotations: [], logprobs: [] };
        this.emit({ type: 'response.content_part.added', ...at, part: empty });
        if (text !== '') this.emit({ type: 'response.output_text.delta', ...at, delta: text, logprobs });
        annotations.forEach((annotation, annotation_index) =>
          this.emit({ type: 'response.output_text.annotation.added', ...at, annotation_index, annotation }),
        );
        this.emit({ type: 'response.output_text.done', ...at, text, logprobs });
        break;
      }
      case 'refusal':
        this.emit({ type: 'response.content_part.added', ...at, part: { type: part.type, refusal: '' } });
        this.emit({ type: 'response.refusal.delta', ...at, delta: part.refusal });
        this.emit({ type: 'response.refusal.done', ...at, refusal: part.refusal });
        break;
      case 'reasoning_text':
        this.emit({ type: 'response.content_part.added', ...at, part: { type: part.type, text: '' } });
        this.emit({ type: 'response.reasoning_text.delta', ...at, delta: part.text });
        this.emit({ type: 'response.reasoning_text.done', ...at, text: part.text });
        break;
    }
    this.emit({ type: 'response.content_part.done', ...at, part });
  }
}

/** Gives folded reasoning what it has only when it is done. */
function sealAtEnd(folded: OutputItem | undefined, item: OutputItem): void {
  if (folded?.type !== 'reasoning' || item.type !== 'reasoning') return;
  if (item.encrypted_content !== undefined) folded.encrypted_content = item.encrypted_content;
}

/** Returns the item as it is when it is added: without content. */
function emptied(item: OutputItem): OutputItem {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] };
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' };
    case 'reasoning':
      return { type: 'reasoning', id: item.id, status: 'in_progress', summary: [] };
  }
}
