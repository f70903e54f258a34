import type { z } from 'zod';
import { integerMembers } from './create-response.ts';
import { isErrorCode, ServiceError, type ErrorCode } from './errors.ts';

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
