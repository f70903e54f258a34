import { z } from 'zod';
import { inputItemId } from './ids.ts';
import type { InputItem } from './items.ts';
import type { OutputItem } from './output.ts';

/** An input item in the list of a response's input. It has an id and a status, and its text is in parts. */
export type ListedItem = Omit<InputItem, 'id' | 'content'> & {
  id: string;
  status: string;
  content?: unknown;
};

/** The members of every listed item. The others are as the client sent them. */
export const listedItemSchema = z.looseObject({ type: z.string(), id: z.string(), status: z.string() });

/** Returns the item at a place of the input as it is listed. The same place always has the same id. */
export function listedItem(item: InputItem, responseId: string, index: number): ListedItem {
  const id = inputItemId(item.type, responseId, index);
  if (item.type !== 'message') return { ...item, id, status: 'completed' };
  const text = item.role === 'assistant' ? 'output_text' : 'input_text';
  const content =
    typeof item.content === 'string'
      ? [{ type: text, text: item.content, ...(text === 'output_text' && { annotations: [] }) }]
      : item.content;
  return { ...item, id, status: 'completed', content };
}

/** Turns an output item into an input item of a later request. Reasoning keeps its summary, and all of it where it was sealed. */
export function outputAsInput(item: OutputItem): InputItem {
  switch (item.type) {
    case 'message':
      return {
        type: 'message',
        id: item.id,
        role: 'assistant',
        content: item.content.map((part) =>
          part.type === 'output_text'
            ? { type: 'output_text', text: part.text, annotations: part.annotations }
            : { type: 'refusal', refusal: part.refusal },
        ),
        ...(item.phase && { phase: item.phase }),
      };
    case 'function_call':
      return {
        type: 'function_call',
        id: item.id,
        call_id: item.call_id,
        name: item.name,
        arguments: item.arguments,
      };
    case 'custom_tool_call':
      return {
        type: 'custom_tool_call',
        id: item.id,
        call_id: item.call_id,
        name: item.name,
        input: item.input,
      };
    case 'reasoning':
      return {
        type: 'reasoning',
        id: item.id,
        summary: item.summary,
        ...(item.encrypted_content !== undefined && { encrypted_content: item.encrypted_content }),
      };
  }
}
