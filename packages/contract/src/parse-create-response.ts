import type { CacheBreakpoint } from './cache-breakpoints.ts';
import { createResponseSchema, type CreateResponseBody } from './create-response.ts';
import type { EmbeddingRequest } from './embedding.ts';
import { firstProblem } from './first-problem.ts';
import { type HostedRequest, hostedRequest, type HostedToolsOfModels } from './hosted-tools.ts';
import { type InputItem, normalizeInput } from './items.ts';
import { ServiceError } from './service-error.ts';
import { longestToolName } from './tool-names.ts';

/**
 * A valid request: the members that the client sent, with `input` as a list of items.
 *
 * An absent member stays absent, so a provider can tell a default from a choice. `responseFor` fills in the defaults.
 */
export type CreateResponse = Omit<CreateResponseBody, 'input'> & { input: InputItem[] } & HostedRequest &
  SamplingRequest &
  CachingRequest & { embedding?: EmbeddingRequest };

/** Members for sampling that other protocols have. A request of the Responses API has none of them. */
export interface SamplingRequest {
  /** The output ends before the first of these texts. */
  stop?: string[];
  /** Equal seeds should lead to equal outputs, where the upstream can do that. */
  seed?: number;
}

/** The members about caches of upstreams, which other protocols have and the Responses API has not. */
export interface CachingRequest {
  /** At most `mostCacheBreakpoints`. A provider that has no place for them ignores them. */
  cache_breakpoints?: CacheBreakpoint[];
}

export interface ParseOptions {
  /** Whether a list without items is fine although nothing is continued. */
  mayBeEmpty?: boolean;
  /** The tools that upstreams run; none by default. */
  hostedTools?: HostedToolsOfModels | undefined;
  /** Most characters of the name of a tool; those of the Responses API by default. */
  longestToolName?: number;
}

/** Members of features that are not built yet. They are refused, because a client could rely on them. */
const notAvailable = ['conversation', 'prompt'] as const;

/**
 * Parses the body of a create request.
 *
 * Only the first problem is reported. The checks run in this order: the body itself, required members, types and
 * ranges in the order of the schema, members that exclude one another. Encrypted content is not looked into: it takes a key.
 *
 * @throws {ServiceError} with a code whose status is 400, and the `param` it is about.
 */
export function parseCreateResponse(
  body: unknown,
  {
    mayBeEmpty = false,
    hostedTools = {},
    longestToolName: mostCharacters = longestToolName.responses,
  }: ParseOptions = {},
): CreateResponse {
  const given = presentMembers(body);
  for (const required of ['model', 'input'] as const) {
    if (given[required] === undefined) {
      throw new ServiceError('missing_required_parameter', { param: required });
    }
  }
  const parsed = createResponseSchema.safeParse(given);
  if (!parsed.success) throw firstProblem(parsed.error, given);
  const { input, ...rest } = parsed.data;
  const request: CreateResponse = {
    ...rest,
    input: normalizeInput(input),
    ...hostedRequest(given, hostedTools),
  };
  checkToolNames(request, mostCharacters);
  checkMembersTogether(request, mayBeEmpty);
  return request;
}

function checkToolNames({ tools = [], input }: CreateResponse, most: number): void {
  const isLong = (name: string) => name.length > most;
  const tool = tools.findIndex(({ name }) => isLong(name));
  const call = input.findIndex((item) => item.type === 'function_call' && isLong(item.name));
  if (tool < 0 && call < 0) return;
  const param = tool >= 0 ? `tools[${tool}].name` : `input[${call}].name`;
  const message = `Invalid '${param}': expected at most ${most} characters.`;
  throw new ServiceError('string_above_max_length', message, { param });
}

/** Returns the members of the body without those that are `null`, which means "absent" for every member. */
export function presentMembers(body: unknown): Record<string, unknown> {
  if (body === undefined)
    throw new ServiceError('invalid_json', 'The request has no body; send a JSON object.');
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ServiceError('invalid_type', 'The request body must be a JSON object.');
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

function checkMembersTogether(request: CreateResponse, mayBeEmpty: boolean): void {
  checkAvailable(request);
  if (!mayBeEmpty && request.input.length === 0 && request.previous_response_id === undefined) {
    throw new ServiceError('empty_array', { param: 'input' });
  }
  checkWebhookUrl(request);
  checkTools(request);
  checkToolChoice(request);
}

/** Refuses the address for news of a response whose caller waits for it and knows its end. */
function checkWebhookUrl({ webhook_url: url, background }: CreateResponse): void {
  if (url === undefined || background === true) return;
  const message = "'webhook_url' is for a response in the background: set 'background' to true.";
  throw new ServiceError('invalid_value', message, { param: 'webhook_url' });
}

/** Refuses members that exclude one another, and those of features that are not built. */
export function checkAvailable(
  request: Pick<CreateResponse, 'conversation' | 'previous_response_id' | 'prompt'>,
): void {
  if (request.conversation !== undefined && request.previous_response_id !== undefined) {
    throw new ServiceError('mutually_exclusive_parameters');
  }
  for (const name of notAvailable) {
    if (request[name] !== undefined) throw new ServiceError('unsupported_parameter', { param: name });
  }
}

/** A function and a custom tool may not share a name: an upstream that has functions alone could not tell them apart. */
function checkTools({ tools = [] }: CreateResponse): void {
  const functions = new Set(tools.filter(({ type }) => type === 'function').map(({ name }) => name));
  const shared = tools.find(({ type, name }) => type === 'custom' && functions.has(name));
  if (!shared) return;
  throw new ServiceError('invalid_value', `A function and a custom tool share the name '${shared.name}'.`, {
    param: 'tools',
  });
}

function checkToolChoice({ tools = [], hosted_tools: hosted, tool_choice: choice }: CreateResponse): void {
  if (choice === 'required' && tools.length === 0 && !hosted) {
    throw new ServiceError(
      'invalid_value',
      "Tool choice 'required' needs a function or a custom tool among 'tools'.",
      {
        param: 'tool_choice',
      },
    );
  }
  if (choice === undefined || typeof choice === 'string') return;
  const known = new Set(tools.map(({ type, name }) => `${type} ${name}`));
  const named = choice.type === 'allowed_tools' ? choice.tools : [choice];
  for (const { type, name } of named) {
    if (!known.has(`${type} ${name}`)) {
      throw new ServiceError('invalid_value', `Tool choice '${name}' is not among 'tools'.`, {
        param: 'tool_choice',
      });
    }
  }
}

type ToolCallType = 'function_call' | 'custom_tool_call';
type ToolOutputType = 'function_call_output' | 'custom_tool_call_output';

/** The link between a tool call and its output, as either of them states it. */
export type ToolItem =
  | { type: ToolCallType; call_id: string }
  | { type: ToolOutputType; call_id?: string | null | undefined };

/** Returns the ids of calls that the earlier context must have: their outputs are in `input`, and they are not. */
export function openToolOutputs(
  input: readonly (ToolItem | { type: Exclude<InputItem['type'], ToolItem['type']> })[],
): Set<string> {
  const called = new Set<string>();
  const open = new Set<string>();
  for (const item of input) {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') called.add(item.call_id);
    if (item.type !== 'function_call_output' && item.type !== 'custom_tool_call_output') continue;
    if (item.call_id != null && !called.has(item.call_id)) open.add(item.call_id);
  }
  return open;
}

/** `isForgotten`: what the request continues from holds more calls than are kept, and this may have been an older one. */
export function toolCallNotFound(callId: string, { isForgotten }: { isForgotten: boolean }): ServiceError {
  const forgotten = ' Only the latest calls of a long conversation are known; send the call with its output.';
  return new ServiceError(
    'tool_call_not_found',
    `No tool call found for function call output with call_id ${callId}.${isForgotten ? forgotten : ''}`,
  );
}
