import type { Generation, InputPart } from '@sluice/contract';
import { parseObject } from '../json-fields.ts';
import { type PromptItem, promptItems } from '../openai/prompt-items.ts';
import { ProviderError } from '../provider.ts';
import type { HistoryCall, HistoryItem } from './library.ts';

/**
 * The conversation as the chat template of a model gets it.
 *
 * Instructions and the system's opening messages become one, and so do neighbouring messages of a user, because many
 * templates refuse two in a row. The output of a function stands with its call. A history that ends with what the model
 * said gets an empty turn of the model, so that the model begins anew rather than going on with that.
 *
 * @throws {ProviderError} `invalid_prompt` for anything but text.
 */
export function chatHistory(
  generation: Pick<Generation, 'input' | 'instructions'>,
  providerId: string,
): HistoryItem[] {
  const history: HistoryItem[] = [];
  const calls = new Map<string, HistoryCall>();
  if (generation.instructions) addSystem(history, generation.instructions);
  for (const item of promptItems(generation)) addItem(item, { history, calls, providerId });
  const last = history.at(-1);
  if (last?.type === 'model' && typeof last.response.at(-1) === 'string') {
    history.push({ type: 'model', response: [] });
  }
  return history;
}

interface Conversation {
  history: HistoryItem[];
  calls: Map<string, HistoryCall>;
  providerId: string;
}

function addItem(item: PromptItem, { history, calls, providerId }: Conversation): void {
  switch (item.type) {
    case 'message': {
      const text = textOf(item.content, providerId);
      if (item.role === 'user') return addUser(history, text);
      if (item.role === 'assistant') return addAnswer(history, text);
      return addSystem(history, text);
    }
    case 'function_call': {
      // A call without an output so far has an empty one: templates write both.
      const call: HistoryCall = {
        type: 'functionCall',
        name: item.name,
        params: parseObject(item.arguments) ?? item.arguments,
        result: '',
      };
      calls.set(item.call_id, call);
      answerOf(history).push(call);
      return;
    }
    case 'custom_tool_call':
      // None is left: see `promptItems`.
      return;
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const call = calls.get(item.call_id);
      const text = textOf(item.output, providerId);
      // Templates write an object as JSON. They would quote a text that holds its JSON.
      if (call) call.result = parseObject(text) ?? text;
      return;
    }
    case 'reasoning':
      return;
  }
}

function addSystem(history: HistoryItem[], text: string): void {
  const last = history.at(-1);
  if (last?.type === 'system') last.text = `${last.text}\n\n${text}`;
  else history.push({ type: 'system', text });
}

function addUser(history: HistoryItem[], text: string): void {
  const last = history.at(-1);
  if (last?.type === 'user') last.text = `${last.text}\n\n${text}`;
  else history.push({ type: 'user', text });
}

function addAnswer(history: HistoryItem[], text: string): void {
  const response = answerOf(history);
  const before = response.at(-1);
  if (typeof before === 'string') response[response.length - 1] = `${before}\n\n${text}`;
  else response.push(text);
}

function answerOf(history: HistoryItem[]): (string | HistoryCall)[] {
  const last = history.at(-1);
  if (last?.type === 'model') return last.response;
  const response: (string | HistoryCall)[] = [];
  history.push({ type: 'model', response });
  return response;
}

function textOf(content: string | readonly InputPart[], providerId: string): string {
  if (typeof content === 'string') return content;
  return content.map((part) => partText(part, providerId)).join('\n');
}

function partText(part: InputPart, providerId: string): string {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return part.text;
    case 'refusal':
      return part.refusal;
    case 'input_image':
    case 'input_file':
    case 'input_video':
      throw new ProviderError('invalid_prompt', `Provider '${providerId}' takes text alone.`, {
        disposition: 'fail',
        param: 'input',
        publicMessage: `The model takes text alone. Remove the part of type '${part.type}'.`,
      });
  }
}
