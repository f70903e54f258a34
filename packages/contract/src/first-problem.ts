import type { z } from 'zod';
import { integerMembers } from './create-response.ts';
import { isErrorCode, type ErrorCode } from './errors.ts';
import { ServiceError } from './service-error.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/**
 * Makes an error, with code and param, of the first problem that a parse found.
 *
 * It works for any schema of the contract. `root` is the value that was parsed.
 */
export function firstProblem(error: z.ZodError, root: unknown): ServiceError {
  const { issue, path } = deepest(error.issues, root, []);
  return problem(issue, path, root);
}

/** Finds the branch of a failed union that the client meant: the one that accepts the type of the value. */
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
  const refuse: Refuse = (code, message, at = param) =>
    new ServiceError(code, message, { param: at === '' ? null : at });
  switch (issue?.code) {
    case 'invalid_type':
      return valueAt(root, path) === undefined
        ? refuse('missing_required_parameter')
        : refuse('invalid_type', `Invalid type for '${param}': expected ${expectedType(issue.expected)}.`);
    case 'too_small':
      return tooSmall(issue, refuse, param);
    case 'too_big':
      return tooBig(issue, refuse, param);
    case 'invalid_value': {
      const value = valueAt(root, path);
      if (value === undefined) return refuse('missing_required_parameter');
      const allowed = issue.values.map((each) => `'${String(each)}'`).join(', ');
      return typeof value === typeof issue.values[0]
        ? refuse('invalid_value', `Invalid value for '${param}': expected one of ${allowed}.`)
        : refuse('invalid_type', `Invalid type for '${param}': expected one of ${allowed}.`);
    }
    case 'invalid_union':
      return unionProblem(issue, path, root, refuse);
    case 'unrecognized_keys':
      return refuse('unsupported_parameter', undefined, formatPath([...path, issue.keys[0] ?? '']));
    case 'custom': {
      const code: unknown = issue.params?.code;
      const message: unknown = issue.params?.message;
      return refuse(
        typeof code === 'string' && isErrorCode(code) ? code : 'invalid_value',
        typeof message === 'string' ? message : undefined,
      );
    }
    default:
      return refuse('invalid_value');
  }
}

/** Makes an error of a code. Its message defaults to that of the catalogue. */
type Refuse = (code: ErrorCode, message?: string, at?: string) => ServiceError;

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
    return valueAt(root, path) === undefined ? refuse('missing_required_parameter') : refuse('invalid_type');
  }
  // The path ends in the discriminator. An object without a known `type` could have been anything, so the error names
  // the object and not its `type`.
  const at = formatPath(discriminator === 'type' && path.at(-1) === 'type' ? path.slice(0, -1) : path);
  return refuse('invalid_value', `Invalid value for '${at}': ${expectation(issue, discriminator)}.`, at);
}

/** The most options that a message lists. The items of `input` have far more, and a list of them would not help. */
const mostOptions = 8;

function expectation(issue: z.core.$ZodIssueInvalidUnion, discriminator: string): string {
  const options = 'options' in issue && Array.isArray(issue.options) ? issue.options : [];
  if (options.length === 0 || options.length > mostOptions) return `unknown or missing '${discriminator}'`;
  return `'${discriminator}' must be one of ${options.map((each) => `'${String(each)}'`).join(', ')}`;
}

function expectedType(expected: string): string {
  if (expected === 'record') return 'an object';
  return expected === 'int' ? 'an integer' : /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

/** How many characters of a member's name an error repeats. */
const longestName = 64;

function formatPath(path: Path): string {
  let formatted = '';
  for (const key of path) {
    // A client can make up a key that is as long as its body.
    const name = String(key).slice(0, longestName);
    formatted += typeof key === 'number' ? `[${key}]` : `${formatted === '' ? '' : '.'}${name}`;
  }
  return formatted;
}

function valueAt(root: unknown, path: Path): unknown {
  let value: unknown = root;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    // The key is part of a path into this very value, and the result stays unknown.
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}
