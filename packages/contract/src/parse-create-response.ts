import type { z } from 'zod';
import { createResponseSchema, integerMembers, type CreateResponseBody } from './create-response.ts';
import { isErrorCode, ServiceError, type ErrorCode } from './errors.ts';
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

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/**
 * The first problem of a failed parse as an error with code and param.
 *
 * Usable for any schema of the contract; `root` is the value that was parsed.
 */
export function firstProblem(error: z.ZodError, root: unknown): ServiceError {
  const { issue, path } = deepest(error.issues, root, []);
  return problem(issue, path, root);
}

/** Follows a failed union into the branch that was meant: the one that got past the value's own type. */
function deepest(
  issues: readonly Issue[],
  root: unknown,
  base: Path,
): { issue: Issue | undefined; path: Path } {
  const issue = issues[0];
  if (!issue) return { issue: undefined, path: base };
  const path = [...base, ...issue.path];
  if (issue.code !== 'invalid_union') return { issue, path };
  const meant = issue.errors.find((branch) =>
    branch.some((inner) => inner.path.length > 0 || isOfTheRightType(inner, valueAt(root, path))),
  );
  return meant ? deepest(meant, root, path) : { issue, path };
}

function isOfTheRightType(issue: Issue, value: unknown): boolean {
  if (issue.code === 'invalid_value') return typeof value === typeof issue.values[0];
  return issue.code === 'too_big' || issue.code === 'too_small' || issue.code === 'custom';
}

function problem(issue: Issue | undefined, path: Path, root: unknown): ServiceError {
  const param = formatPath(path);
  const refuse = (code: ErrorCode, message: string, at: string = param) =>
    new ServiceError(code, message, { param: at });
  switch (issue?.code) {
    case 'invalid_type':
      return valueAt(root, path) === undefined
        ? refuse('missing_required_parameter', `Missing required parameter: '${param}'.`)
        : refuse('invalid_type', `Invalid type for '${param}': expected ${expectedType(issue.expected)}.`);
    case 'too_small':
      return tooSmall(issue, refuse, param);
    case 'too_big':
      return tooBig(issue, refuse, param);
    case 'invalid_value': {
      const value = valueAt(root, path);
      if (value === undefined)
        return refuse('missing_required_parameter', `Missing required parameter: '${param}'.`);
      const allowed = issue.values.map((each) => `'${String(each)}'`).join(', ');
      return typeof value === typeof issue.values[0]
        ? refuse('invalid_value', `Invalid value for '${param}': expected one of ${allowed}.`)
        : refuse('invalid_type', `Invalid type for '${param}': expected one of ${allowed}.`);
    }
    case 'invalid_union':
      return unionProblem(issue, path, root, refuse);
    case 'custom': {
      const code: unknown = issue.params?.code;
      const known = typeof code === 'string' && isErrorCode(code) ? code : 'invalid_value';
      return refuse(known, customMessage(known, param, issue.params?.message));
    }
    default:
      return refuse('invalid_value', `Invalid value for '${param}'.`);
  }
}

type Refuse = (code: ErrorCode, message: string, at?: string) => ServiceError;

function tooSmall(issue: z.core.$ZodIssueTooSmall, refuse: Refuse, param: string): ServiceError {
  if (issue.origin === 'array')
    return refuse('empty_array', `Invalid '${param}': expected at least ${issue.minimum} item.`);
  if (issue.origin === 'string') return refuse('invalid_value', `Invalid '${param}': it must not be empty.`);
  const code = integerMembers.has(param) ? 'integer_below_min_value' : 'decimal_below_min_value';
  return refuse(code, `Invalid '${param}': expected a value >= ${issue.minimum}.`);
}

function tooBig(issue: z.core.$ZodIssueTooBig, refuse: Refuse, param: string): ServiceError {
  if (issue.origin === 'array') {
    return refuse('array_above_max_length', `Invalid '${param}': expected at most ${issue.maximum} items.`);
  }
  if (issue.origin === 'string') {
    return refuse(
      'string_above_max_length',
      `Invalid '${param}': expected at most ${issue.maximum} characters.`,
    );
  }
  const code = integerMembers.has(param) ? 'integer_above_max_value' : 'decimal_above_max_value';
  return refuse(code, `Invalid '${param}': expected a value <= ${issue.maximum}.`);
}

function unionProblem(
  issue: z.core.$ZodIssueInvalidUnion,
  path: Path,
  root: unknown,
  refuse: Refuse,
): ServiceError {
  const discriminator = 'discriminator' in issue ? issue.discriminator : undefined;
  if (typeof discriminator !== 'string') {
    const param = formatPath(path);
    return valueAt(root, path) === undefined
      ? refuse('missing_required_parameter', `Missing required parameter: '${param}'.`)
      : refuse('invalid_type', `Invalid type for '${param}'.`);
  }
  // The path of a failed discriminator ends in its name. Without a `type` nobody knows what an object was meant to be,
  // so the object itself is named.
  const at = formatPath(discriminator === 'type' && path.at(-1) === 'type' ? path.slice(0, -1) : path);
  return refuse('invalid_value', `Invalid value for '${at}': ${expectation(issue, discriminator)}.`, at);
}

/** More words than these are no help; the items of `input` have many. */
const mostOptions = 8;

function expectation(issue: z.core.$ZodIssueInvalidUnion, discriminator: string): string {
  const options = 'options' in issue && Array.isArray(issue.options) ? issue.options : [];
  if (options.length === 0 || options.length > mostOptions) return `unknown or missing '${discriminator}'`;
  return `'${discriminator}' must be one of ${options.map((each) => `'${String(each)}'`).join(', ')}`;
}

function customMessage(code: ErrorCode, param: string, message: unknown): string {
  if (typeof message === 'string') return message;
  if (code === 'missing_required_parameter') return `Missing required parameter: '${param}'.`;
  if (code === 'unsupported_parameter') return `'${param}' is not supported by this server.`;
  return `Invalid value for '${param}'.`;
}

function expectedType(expected: string): string {
  if (expected === 'record') return 'an object';
  return expected === 'int' ? 'an integer' : /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

/** Characters of a member's name that an error repeats. */
const longestName = 64;

function formatPath(path: Path): string {
  let formatted = '';
  for (const key of path) {
    // A client's own key can be as long as its body.
    const name = String(key).slice(0, longestName);
    formatted += typeof key === 'number' ? `[${key}]` : `${formatted === '' ? '' : '.'}${name}`;
  }
  return formatted;
}

function valueAt(root: unknown, path: Path): unknown {
  let value: unknown = root;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    // Indexing with a key of the parsed value's own path; the result is treated as unknown.
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}
