import { createResponseSchema, type CreateResponseBody } from './create-response.ts';
import { ServiceError } from './errors.ts';
import { firstProblem } from './first-problem.ts';
import { type InputItem, normalizeInput } from './items.ts';

/**
 * A validated request: the members the client sent, with `input` as a list of items.
 *
 * Members that were absent stay absent; `responseFor` fills in what the wire promises for them, and a
 * provider can tell a default from a choice.
 */
export type CreateResponse = Omit<CreateResponseBody, 'input'> & { input: InputItem[] };

/** Members that belong to features of a later release. Refused by name, so that nobody relies on silence. */
const notAvailable = ['conversation', 'prompt'] as const;

/**
 * Parses the body of a create request.
 *
 * Rejects with the first problem alone, in this order: the body itself, required members, types and ranges in
 * the order of the schema, members that exclude one another.
 *
 * @throws {ServiceError} with a code of the 400 family and the `param` it is about.
 */
export function parseCreateResponse(body: unknown): CreateResponse {
  const given = presentMembers(body);
  for (const required of ['model', 'input'] as const) {
    if (given[required] === undefined) {
      throw new ServiceError('missing_required_parameter', `Missing required parameter: '${required}'.`, {
        param: required,
      });
    }
  }
  const parsed = createResponseSchema.safeParse(given);
  if (!parsed.success) throw firstProblem(parsed.error, given);
  const { input, ...rest } = parsed.data;
  const request: CreateResponse = { ...rest, input: normalizeInput(input) };
  checkMembersTogether(request);
  return request;
}

/** `null` means "absent" for every member, so it is taken out before anything looks at the body. */
function presentMembers(body: unknown): Record<string, unknown> {
  if (body === undefined)
    throw new ServiceError('invalid_json', 'The request has no body; send a JSON object.');
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ServiceError('invalid_type', 'The request body must be a JSON object.');
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

function checkMembersTogether(request: CreateResponse): void {
  if (request.stream_options && request.stream !== true) {
    throw new ServiceError('invalid_value', "'stream_options' is only allowed when 'stream' is true.", {
      param: 'stream_options',
    });
  }
  if (request.conversation !== undefined && request.previous_response_id !== undefined) {
    throw new ServiceError(
      'mutually_exclusive_parameters',
      "'previous_response_id' and 'conversation' cannot be used together.",
      { param: 'previous_response_id' },
    );
  }
  for (const name of notAvailable) {
    const value = request[name];
    if (value !== undefined) {
      throw new ServiceError('unsupported_parameter', `'${name}' is not supported by this server.`, {
        param: name,
      });
    }
  }
  if (request.background === true && request.store === false) {
    throw new ServiceError('unsupported_value', "'background' needs 'store' to be true.", {
      param: 'background',
    });
  }
  if (request.input.length === 0 && request.previous_response_id === undefined) {
    throw new ServiceError('empty_array', "Invalid 'input': expected at least one item.", { param: 'input' });
  }
  checkItems(request.input);
  checkToolChoice(request);
}

/** Sealed content that this server did not seal. */
function checkItems(input: InputItem[]): void {
  input.forEach((item, index) => {
    if (item.type === 'compaction' || (item.type === 'reasoning' && item.encrypted_content != null)) {
      throw new ServiceError(
        'invalid_encrypted_content',
        'The encrypted content was not made by this server.',
        {
          param: `input[${index}].encrypted_content`,
        },
      );
    }
  });
}

function checkToolChoice({ tools = [], tool_choice: choice }: CreateResponse): void {
  if (choice === 'required' && tools.length === 0) {
    throw new ServiceError('invalid_value', "Tool choice 'required' needs a function among 'tools'.", {
      param: 'tool_choice',
    });
  }
  if (choice === undefined || typeof choice === 'string') return;
  const known = new Set(tools.map((tool) => tool.name));
  const named = choice.type === 'function' ? [choice] : choice.tools;
  for (const { name } of named) {
    if (!known.has(name)) {
      throw new ServiceError('invalid_value', `Tool choice '${name}' is not among 'tools'.`, {
        param: 'tool_choice',
      });
    }
  }
}

/**
 * Call ids whose outputs are in `input` while the calls are not: they must be somewhere in the earlier context.
 */
export function openToolOutputs(input: readonly InputItem[]): Set<string> {
  const called = new Set<string>();
  const open = new Set<string>();
  for (const item of input) {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') called.add(item.call_id);
    if (item.type !== 'function_call_output' && item.type !== 'custom_tool_call_output') continue;
    if (item.call_id != null && !called.has(item.call_id)) open.add(item.call_id);
  }
  return open;
}

export function toolCallNotFound(callId: string): ServiceError {
  return new ServiceError(
    'tool_call_not_found',
    `No tool call found for function call output with call_id ${callId}.`,
    { param: 'input' },
  );
}
