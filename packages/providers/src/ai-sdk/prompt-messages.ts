import type { Generation, InputPart } from '@sluice/contract';
import { type CacheMark, type CacheMarks, type ItemMarks, itemMark, partMark } from '../cache-marks.ts';
import { parseObject } from '../json-fields.ts';
import { markedTexts, plainText, splitOutput } from '../openai/plain-content.ts';
import { type PromptItem, type PromptMessage as MessageItem, promptItems } from '../openai/prompt-items.ts';
import { ProviderError } from '../provider.ts';
import { asDataUrl, mediaTypeOf, splitDataUrl } from '../upstream/file-data.ts';
import { checkMediaUrl, type MediaPolicy } from '../upstream/media-policy.ts';
import { signedOptions } from './signed-reasoning.ts';
import type {
  AssistantPart,
  FilePart,
  Markable,
  PromptMessage,
  TextPart,
  ToolResultPart,
  UserPart,
} from './specification.ts';

export interface PromptOptions extends MediaPolicy {
  /** Version 4 tags the data of a file; earlier ones take it as it is. */
  tagsFiles: boolean;
  /** The marks of the request, for a vendor that has a place for them. Texts stay apart then; see `markedTexts`. */
  marks?: CacheMarks | undefined;
}

/** One message with the outputs of its calls, which must follow it directly. */
interface Turn {
  message: PromptMessage;
  outputs: ToolResultPart[];
  /** Media of those outputs, for a message of the user after them: a package might fetch the URLs of a tool result. */
  media: UserPart[];
}

/**
 * The prompt of a generation: the instructions first, then the input.
 *
 * System and developer messages at the start are merged with the instructions. Later ones become messages of the user,
 * because some packages refuse a system message there. Consecutive texts and calls of the assistant become one message.
 * Outputs follow their calls directly, wherever they stood in the input.
 *
 * @throws {ProviderError} `invalid_prompt` for media that this upstream must not be given.
 */
export function promptMessages(generation: Generation, options: PromptOptions): PromptMessage[] {
  const turns: Turn[] = [];
  const callers = new Map<string, { turn: Turn; toolName: string }>();
  const { marks } = options;
  if (generation.instructions) addSystem(turns, generation.instructions, undefined, options);
  for (const item of promptItems(generation, { marks })) addItem(item, turns, callers, options);
  return turns.flatMap(({ message, outputs, media }) => [
    message,
    ...(outputs.length > 0 ? [{ role: 'tool' as const, content: outputs }] : []),
    ...(media.length > 0 ? [{ role: 'user' as const, content: media }] : []),
  ]);
}

function addItem(
  item: PromptItem,
  turns: Turn[],
  callers: Map<string, { turn: Turn; toolName: string }>,
  options: PromptOptions,
): void {
  switch (item.type) {
    case 'message':
      return addMessage(item, turns, options);
    case 'function_call': {
      const { call_id: toolCallId, name: toolName, arguments: args } = item;
      // Some APIs take only an object. Any other input was not made by a model.
      const input = parseObject(args) ?? (args.trim() === '' ? {} : { input: args });
      const part = { type: 'tool-call' as const, toolCallId, toolName, input };
      const turn = addToAssistant(turns, { ...part, ...markedBy(itemMark(item.marks)) });
      callers.set(toolCallId, { turn, toolName });
      return;
    }
    case 'custom_tool_call':
      // None is left: see `promptItems`.
      return;
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const caller = callers.get(item.call_id);
      if (!caller) return;
      const { text, media } = splitOutput(item.output, (part) => userPart(part, options));
      const output = { type: 'text', value: text } as const;
      const mark = itemMark(item.marks);
      caller.turn.outputs.push({
        type: 'tool-result',
        toolCallId: item.call_id,
        toolName: caller.toolName,
        output,
        ...(media.length === 0 && markedBy(mark)),
      });
      if (media.length > 0) {
        caller.turn.media.push(textPart(`Attached to the output of ${item.call_id}:`));
        // One by one: as arguments of one call, hundreds of thousands do not fit the stack.
        for (const part of markedLast(media, mark)) caller.turn.media.push(part);
      }
      return;
    }
    case 'reasoning':
      return addReasoning(item, turns, options);
  }
}

/** Reasoning is sent back with its vendor's signature, or not at all: Anthropic refuses it otherwise. */
function addReasoning(
  { content, opaque }: Extract<PromptItem, { type: 'reasoning' }>,
  turns: Turn[],
  { providerId }: PromptOptions,
): void {
  const providerOptions = signedOptions(opaque, providerId);
  if (!providerOptions) return;
  const text = (content ?? []).map((part) => part.text).join('');
  addToAssistant(turns, { type: 'reasoning', text, providerOptions });
}

function addMessage(
  message: MessageItem & { marks?: ItemMarks },
  turns: Turn[],
  options: PromptOptions,
): void {
  const { content, marks } = message;
  if (message.role === 'user') {
    const parts =
      typeof content === 'string' ? [textPart(content)] : content.map((part) => userPart(part, options));
    const marked = parts.map((part, at) => ({
      ...part,
      ...markedBy(partMark(marks, at, { of: parts.length })),
    }));
    turns.push(newTurn({ role: 'user', content: marked }));
  } else if (message.role === 'assistant') {
    // Anthropic refuses an empty text.
    for (const { text, mark } of textsOf(content, marks, options))
      addToAssistant(turns, { ...textPart(text), ...markedBy(mark) });
  } else {
    addSystem(turns, content, marks, options);
  }
}

/** The texts of a content that are not empty: one, or each by itself where marks may stand between them. */
function textsOf(content: MessageItem['content'], marks: ItemMarks | undefined, options: PromptOptions) {
  if (options.marks) return markedTexts(content, marks);
  const text = plainText(content);
  return text === '' ? [] : [{ text, mark: undefined }];
}

function addSystem(
  turns: Turn[],
  content: MessageItem['content'],
  marks: ItemMarks | undefined,
  options: PromptOptions,
): void {
  for (const { text, mark } of textsOf(content, marks, options)) {
    const opening = turns[0]?.message;
    // A system message comes behind others of its kind alone, so the last one speaks for all.
    if (turns.length === 0 || (options.marks && turns.at(-1)?.message.role === 'system')) {
      turns.push(newTurn({ role: 'system', content: text, ...markedBy(mark) }));
    } else if (turns.length === 1 && opening?.role === 'system') {
      opening.content = `${opening.content}\n\n${text}`;
    } else turns.push(newTurn({ role: 'user', content: [{ ...textPart(text), ...markedBy(mark) }] }));
  }
}

function markedBy(mark: CacheMark | undefined): Markable {
  return mark ? { providerOptions: { anthropic: { cacheControl: mark } } } : {};
}

function markedLast(parts: readonly UserPart[], mark: CacheMark | undefined): UserPart[] {
  return parts.map((part, at) => (at === parts.length - 1 ? { ...part, ...markedBy(mark) } : part));
}

/** Adds to the assistant's current turn, or begins one: what follows an output belongs to the next turn. */
function addToAssistant(turns: Turn[], part: AssistantPart): Turn {
  const last = turns.at(-1);
  if (last?.message.role === 'assistant' && last.outputs.length === 0) {
    last.message.content.push(part);
    return last;
  }
  const turn = newTurn({ role: 'assistant', content: [part] });
  turns.push(turn);
  return turn;
}

function newTurn(message: PromptMessage): Turn {
  return { message, outputs: [], media: [] };
}

function textPart(text: string): TextPart {
  return { type: 'text', text };
}

function userPart(part: InputPart, options: PromptOptions): UserPart {
  switch (part.type) {
    case 'input_image':
      return filePart({ url: part.image_url ?? '', mediaType: 'image/*' }, options);
    case 'input_file': {
      const filename = part.filename ?? undefined;
      if (part.file_data != null) {
        const url = asDataUrl(part.file_data, filename);
        return filePart({ url, filename, mediaType: 'application/octet-stream' }, options);
      }
      const url = part.file_url ?? '';
      const path = URL.parse(url)?.pathname ?? '';
      const mediaType = mediaTypeOf(filename ?? path) ?? mediaTypeOf(path) ?? 'application/pdf';
      return filePart({ url, filename, mediaType }, options);
    }
    case 'input_video':
      return filePart({ url: part.video_url, mediaType: 'video/*' }, options);
    case 'refusal':
      return textPart(part.refusal);
    case 'input_text':
    case 'output_text':
      return textPart(part.text);
  }
}

function filePart(
  file: { url: string; filename?: string | undefined; mediaType: string },
  options: PromptOptions,
): FilePart {
  const { url, filename } = file;
  checkMediaUrl(url, options);
  const named = filename === undefined ? {} : { filename };
  const content = splitDataUrl(url);
  if (content) {
    const { base64, mediaType } = content;
    const data = options.tagsFiles ? { type: 'data' as const, data: base64 } : base64;
    return { type: 'file', ...named, data, mediaType: mediaType || file.mediaType };
  }
  const parsed = URL.parse(url);
  if (!parsed || parsed.protocol === 'data:') throw notBase64(options);
  const data = options.tagsFiles ? { type: 'url' as const, url: parsed } : parsed;
  return { type: 'file', ...named, data, mediaType: file.mediaType };
}

function notBase64({ providerId }: MediaPolicy): ProviderError {
  return new ProviderError('invalid_prompt', `Provider '${providerId}' takes data URLs with base64 alone.`, {
    disposition: 'fail',
    param: 'input',
    publicMessage: 'The data URL of a media part is not base64. Encode its content as base64.',
  });
}
