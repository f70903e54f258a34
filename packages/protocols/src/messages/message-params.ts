import type { ServiceError } from '@sluice/contract';
import { z } from 'zod';
import { aboutMember } from '../members.ts';
import type { ItemPath } from './message-input.ts';

/** Members of a response, with the name that each has in the request of a message. */
const names: ReadonlyMap<string, string> = new Map([
  ['input', 'messages'],
  ['max_output_tokens', 'max_tokens'],
  ['stop', 'stop_sequences'],
  ['user', 'metadata.user_id'],
  ['parallel_tool_calls', 'tool_choice.disable_parallel_tool_use'],
  ['reasoning.effort', 'thinking'],
  ['reasoning.summary', 'thinking'],
  ['include', 'thinking'],
  ['text.format', 'output_config.format'],
  ['text.format.schema', 'output_config.format.schema'],
]);

/**
 * An error of a response as one of a message, which names its own member. Without `paths` it names members of the whole alone, and leaves
 * an error as it is that was translated before.
 */
export function asMessageError(error: ServiceError, paths?: readonly ItemPath[]): ServiceError {
  const { param } = error;
  if (param === null) return error;
  return aboutMember(error, names.get(param) ?? (paths ? memberOf(param, paths) : param));
}

/** The member of the request that a member of a response was made of. */
function memberOf(param: string, paths: readonly ItemPath[]): string {
  if (param.startsWith('tool_choice')) return 'tool_choice';
  const [, number, below = ''] = /^input\[(\d+)\](.*)$/.exec(param) ?? [];
  if (number === undefined) return param.replace(/^(tools\[\d+\])\.parameters/, '$1.input_schema');
  const path = paths[Number(number)];
  if (!path) return 'messages';
  const [, member = '', part, inPart = ''] = /^\.(\w+)(?:\[(\d+)\](.*))?$/.exec(below) ?? [];
  const known = part === undefined ? undefined : path.parts[Number(part)];
  if (known !== undefined) return `${known}${inPart.replace(/^\.(image_url|file_\w+)$/, '.source')}`;
  const name = path.names[member] ?? member;
  return name === '' ? path.item : `${path.item}.${name}`;
}

/** The types of Anthropic's errors, by the status of the answer; every other status below 500 is a bad request. */
const typesByStatus: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
]);

export const messageErrorSchema = z.object({
  type: z.literal('error'),
  error: z.object({
    type: z.string(),
    message: z.string(),
    /** The code and the member that the Responses API has for the same error. */
    details: z.object({
      error_code: z.string(),
      param: z.string().nullable(),
      unsupported: z.array(z.string()).exactOptional(),
    }),
  }),
  request_id: z.string(),
});
export type MessageError = z.output<typeof messageErrorSchema>;

/** The body of an error in Anthropic's form. */
export function messageErrorOf(error: ServiceError, requestId: string): MessageError {
  const { code, message, param } = asMessageError(error);
  const type =
    typesByStatus.get(error.status) ?? (error.status < 500 ? 'invalid_request_error' : 'api_error');
  return {
    type: 'error',
    error: { type, message, details: param === 'thread' ? noThreads : { error_code: code, param } },
    request_id: requestId,
  };
}

/** Anthropic's clients begin with a thread, and send the whole conversation once they are told that there is none. */
const noThreads = { error_code: 'thread_unsupported_request', param: 'thread', unsupported: ['thread'] };
