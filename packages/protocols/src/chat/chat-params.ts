import type { ServiceError } from '@sluice/contract';
import { aboutMember } from '../members.ts';

/** The facts of a request by which its members get the names that the chat completion has for them. */
export interface ChatParams {
  /** The member that each item of the input was made of. */
  paths: readonly string[];
  /** The kind of each tool. */
  tools: readonly ('function' | 'custom')[];
}

/** Members of a response, with the name that each has in a chat completion. None is a member of a chat completion as well, or its error would get a wrong name. */
const names: ReadonlyMap<string, string> = new Map([
  ['input', 'messages'],
  ['max_output_tokens', 'max_completion_tokens'],
  ['text.format', 'response_format'],
  ['text.format.name', 'response_format.json_schema.name'],
  ['text.format.schema', 'response_format.json_schema.schema'],
  ['text.verbosity', 'verbosity'],
  ['include', 'logprobs'],
]);

/** Members of an item, with the name that each has in the message that it was made of. */
const itemNames: readonly [RegExp, string][] = [
  [/^(\.(?:content|output)\[\d+\])\.image_url$/, '$1.image_url.url'],
  [/^(\.(?:content|output)\[\d+\])\.(file_data|filename|file_id)$/, '$1.file.$2'],
  [/^\.arguments$/, '.function.arguments'],
  [/^\.input$/, '.custom.input'],
  [/^\.output/, '.content'],
];

/**
 * An error of a response as one of a chat completion, which names its own member. Without `params` it names members of the whole alone,
 * and leaves an error as it is that was translated before.
 */
export function asChatError(error: ServiceError, params?: ChatParams): ServiceError {
  const { param } = error;
  return param === null
    ? error
    : aboutMember(error, params ? chatParam(param, params) : (names.get(param) ?? param));
}

/** The member of a chat completion that a member of a response was made of. */
function chatParam(param: string, { paths, tools }: ChatParams): string {
  const known = names.get(param);
  if (known !== undefined) return known;
  const [, item, below = ''] = /^input\[(\d+)\](.*)$/.exec(param) ?? [];
  if (item !== undefined)
    return `${paths[Number(item)] ?? 'messages'}${itemParam(paths[Number(item)], below)}`;
  const [, tool, member = ''] = /^tools\[(\d+)\](.*)$/.exec(param) ?? [];
  if (tool !== undefined && member !== '')
    return `tools[${tool}].${tools[Number(tool)] ?? 'function'}${member}`;
  return param.startsWith('tool_choice') ? 'tool_choice' : param;
}

function itemParam(path: string | undefined, below: string): string {
  if (below === '.call_id') return path?.includes('.tool_calls[') ? '.id' : '.tool_call_id';
  if (below === '.name') return '.function.name';
  let name = below;
  for (const [pattern, replacement] of itemNames) name = name.replace(pattern, replacement);
  // The reasoning of a message is a text.
  return path?.endsWith('.reasoning') || path?.endsWith('.reasoning_content') ? '' : name;
}
