import { type CacheControl, type MarkAt, markAt } from '../cache-marks.ts';
import type {
  AssistantBlock,
  DocumentBlock,
  ImageBlock,
  MediaBlock,
  Message,
  MessageRequestBody,
  ToolResult,
  UserBlock,
} from './message-schema.ts';

/** An item of the input, before it is checked. */
type UncheckedItem = Record<string, unknown> & { type: string };

/** The members of the request that an item was made of. */
export interface ItemPath {
  item: string;
  /** The place of each part of its content or output. */
  parts: readonly string[];
  /** The name that each of its members has in the block. */
  names: Readonly<Record<string, string>>;
}

export interface MessageInput {
  items: UncheckedItem[];
  paths: ItemPath[];
  /** Marks for caches, in their order. */
  marks: MarkAt[];
}

/** An item that one block is alone. */
interface ItemAlone extends Pick<ItemPath, 'names'> {
  item: UncheckedItem;
  parts?: readonly PartAt[];
}

/** A part of a content. */
interface MarkedPart {
  part: object;
  /** Its mark, and the member below its block that has it. */
  mark?: { control: CacheControl; below: string };
}

/** The same, and the member that it was made of. */
interface PartAt extends MarkedPart {
  path: string;
}

/**
 * The system and the messages as items, in their order.
 *
 * A message of the user may be several items, since outputs of tools are items of their own, and one of the assistant may be its reasoning,
 * its text and its calls.
 */
export function inputOf({ system, messages }: Pick<MessageRequestBody, 'system' | 'messages'>): MessageInput {
  const input: MessageInput = { items: [], paths: [], marks: [] };
  if (system !== undefined && system.length > 0) {
    addMessage(input, 'system', 'system', typeof system === 'string' ? system : mediaParts(system, 'system'));
  }
  for (const [at, message] of messages.entries()) addTurn(input, message, `messages[${at}].content`);
  return input;
}

function addTurn(input: MessageInput, message: Message, path: string): void {
  const { role, content } = message;
  if (typeof content === 'string') {
    if (role !== 'assistant') addMessage(input, role, path, content);
    else if (content !== '') addMessage(input, role, path, [{ part: outputText(content), path }]);
  } else if (role === 'user') addRuns(input, role, content, path, { alone: resultItem, part: partsOfBlock });
  else if (role === 'assistant') {
    addRuns(input, role, content, path, { alone: assistantItem, part: partsOfText });
  } else addMessage(input, role, path, mediaParts(content, path));
}

/** Adds the blocks of a turn: those that are an item alone, and each run of others as one message. */
function addRuns<Block extends UserBlock | AssistantBlock>(
  input: MessageInput,
  role: 'user' | 'assistant',
  blocks: readonly Block[],
  path: string,
  make: {
    alone: (block: Block, path: string) => ItemAlone | undefined;
    part: (block: Block, path: string) => PartAt[];
  },
): void {
  let run: PartAt[] = [];
  const flush = () => {
    if (run.length > 0) addMessage(input, role, run[0]?.path ?? path, run);
    run = [];
  };
  for (const [at, block] of blocks.entries()) {
    const blockPath = `${path}[${at}]`;
    const alone = make.alone(block, blockPath);
    if (alone) {
      flush();
      const { item, names, parts = [] } = alone;
      add(input, item, { item: blockPath, names }, parts);
      const control = 'cache_control' in block ? block.cache_control : undefined;
      input.marks.push(...markAt({ at: 'input', index: input.items.length - 1 }, control, blockPath));
    } else {
      // One by one: as arguments of one call, the parts of a long document do not fit the stack.
      for (const part of make.part(block, blockPath)) run.push(part);
    }
  }
  flush();
}

function addMessage(
  input: MessageInput,
  role: Message['role'],
  path: string,
  content: string | readonly PartAt[],
): void {
  const isText = typeof content === 'string';
  add(
    input,
    { type: 'message', role, content: isText ? content : content.map(({ part }) => part) },
    { item: path, names: { content: '' } },
    isText ? [] : content,
  );
}

function add(
  input: MessageInput,
  item: UncheckedItem,
  path: Omit<ItemPath, 'parts'>,
  parts: readonly PartAt[],
): void {
  const index = input.items.push(item) - 1;
  input.paths.push({ ...path, parts: parts.map((each) => each.path) });
  for (const [part, { mark, path: block }] of parts.entries()) {
    if (mark)
      input.marks.push(...markAt({ at: 'input', index, part }, mark.control, `${block}${mark.below}`));
  }
}

function resultItem(block: UserBlock, path: string): ItemAlone | undefined {
  if (block.type !== 'tool_result') return undefined;
  const output = outputOf(block, `${path}.content`);
  const isText = typeof output === 'string';
  return {
    item: {
      type: 'function_call_output',
      call_id: block.tool_use_id,
      output: isText ? output : output.map(({ part }) => part),
    },
    parts: isText ? [] : output,
    names: { call_id: 'tool_use_id', output: 'content' },
  };
}

/** An output does not say that its call has failed, so its text does. */
function outputOf({ content, is_error: isError }: ToolResult, path: string): string | PartAt[] {
  const given = content ?? '';
  if (typeof given === 'string') {
    if (isError !== true) return given;
    return given === '' ? failed : `${failed} ${given}`;
  }
  const parts = mediaParts(given, path);
  return isError === true ? [{ part: inputText(failed), path }, ...parts] : parts;
}

const failed = 'Error:';

function assistantItem(block: AssistantBlock): ItemAlone | undefined {
  switch (block.type) {
    case 'text':
      return undefined;
    case 'tool_use': {
      const { id: callId, name, input } = block;
      return {
        item: { type: 'function_call', call_id: callId, name, arguments: JSON.stringify(input) },
        names: { call_id: 'id', arguments: 'input' },
      };
    }
    case 'thinking':
      return {
        item: reasoning(block.thinking, block.signature),
        names: { content: 'thinking', encrypted_content: 'signature' },
      };
    case 'redacted_thinking':
      return { item: reasoning('', block.data), names: { encrypted_content: 'data' } };
  }
}

/** A signature is the sealed reasoning, which holds what its upstream wants back. Thinking of others may have none. */
function reasoning(text: string, signature: string): UncheckedItem {
  return {
    type: 'reasoning',
    summary: [],
    ...(text !== '' && { content: [{ type: 'reasoning_text', text }] }),
    ...(signature !== '' && { encrypted_content: signature }),
  };
}

/** No empty text is said: upstreams refuse it. */
function partsOfText(block: AssistantBlock, path: string): PartAt[] {
  if (block.type !== 'text' || block.text === '') return [];
  return markedLast([{ part: outputText(block.text) }], block).map((part) => ({ ...part, path }));
}

function partsOfBlock(block: UserBlock, path: string): PartAt[] {
  return block.type === 'tool_result' ? [] : mediaParts([block], path, () => path);
}

function mediaParts(
  blocks: readonly MediaBlock[],
  path: string,
  pathOf = (at: number) => `${path}[${at}]`,
): PartAt[] {
  return blocks.flatMap((block, at) => partsOf(block).map((part) => ({ ...part, path: pathOf(at) })));
}

function partsOf(block: MediaBlock): MarkedPart[] {
  switch (block.type) {
    case 'text':
      return markedLast([{ part: inputText(block.text) }], block);
    case 'image':
      return markedLast([{ part: imagePart(block) }], block);
    case 'document':
      return markedLast(documentParts(block), block);
  }
}

/** The mark of a block is that of the last part which is made of it. */
function markedLast(
  parts: readonly MarkedPart[],
  { cache_control: control }: { cache_control?: CacheControl },
): MarkedPart[] {
  if (!control) return [...parts];
  return parts.map((each, at) =>
    at === parts.length - 1 ? { ...each, mark: { control, below: '' } } : each,
  );
}

function imagePart({ source }: ImageBlock): object {
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { type: 'input_image', image_url: url };
}

/** The title and the context of a document have no place beside a file, and stand before it as text. */
function documentParts({ source, title, context }: DocumentBlock): MarkedPart[] {
  const headings = (...texts: (string | null | undefined)[]) =>
    texts.filter((text) => text != null && text !== '').map((text) => ({ part: inputText(String(text)) }));
  switch (source.type) {
    case 'text':
      return [...headings(title, context), { part: inputText(source.data) }];
    case 'content':
      return [
        ...headings(title, context),
        ...(typeof source.content === 'string'
          ? [{ part: inputText(source.content) }]
          : source.content.flatMap((block, at) => partsOf(block).map((part) => inSource(part, at)))),
      ];
    case 'base64': {
      const data = `data:${source.media_type};base64,${source.data}`;
      const part = { type: 'input_file', filename: pdfName(title), file_data: data };
      return [...headings(context), { part }];
    }
    case 'url':
      return [...headings(title, context), { part: { type: 'input_file', file_url: source.url } }];
  }
}

function inSource({ part, mark }: MarkedPart, at: number): MarkedPart {
  return { part, ...(mark && { mark: { ...mark, below: `.source.content[${at}]${mark.below}` } }) };
}

/** Upstreams tell the type of a file by the end of its name. */
function pdfName(title: string | null | undefined): string {
  if (title == null || title === '') return 'document.pdf';
  return /\.pdf$/i.test(title) ? title : `${title}.pdf`;
}

function inputText(text: string): object {
  return { type: 'input_text', text };
}

function outputText(text: string): object {
  return { type: 'output_text', text };
}
