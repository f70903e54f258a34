import { z } from 'zod';
import { createResponseSchema, includeValues } from './create-response.ts';
import type { ErrorCode } from './errors.ts';
import { firstProblem } from './first-problem.ts';
import { responseIdSchema } from './ids.ts';

/**
 * The parts of a request besides its body: path, query and headers. They arrive as text, which the schemas here turn
 * into values.
 */

/**
 * Parses one part of a request.
 *
 * @throws {ServiceError} for the first problem, with its code and `param`.
 */
export function parsePart<Schema extends z.ZodType>(schema: Schema, part: unknown): z.output<Schema> {
  const parsed = schema.safeParse(part);
  if (!parsed.success) throw firstProblem(parsed.error, part);
  return parsed.data;
}

/** Accepts any text, because an id of the wrong shape gets the answer of an unknown one. */
export const responseParamsSchema = z.object({ id: z.string() });

/** `*` is the rest of the path, because the id of a model may contain slashes. */
export const modelParamsSchema = z.object({ '*': z.string() });

export const listResponsesQuerySchema = z.object({
  limit: pageLimit(),
  order: choice('order', ['desc']),
  after: member(responseIdSchema, (value, refuse) =>
    responseIdSchema.safeParse(value).success ? value : refuse("'after' must be the id of a response."),
  ).optional(),
});

export const listInputItemsQuerySchema = z.preprocess(
  withBrackets,
  z.object({
    limit: pageLimit(),
    order: choice('order', ['desc', 'asc']),
    include: include(),
    after: anyId().optional(),
  }),
);

export const retrieveResponseQuerySchema = z.preprocess(
  (query) => withoutCursorUnlessStreamed(withBrackets(query)),
  z.object({
    include: include(),
    stream: flag('stream'),
    starting_after: member(z.int().min(0), (value, refuse) => {
      const cursor = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
      if (Number.isSafeInteger(cursor)) return cursor;
      return refuse("'starting_after' must be the number of an event: a whole number from 0.");
    }).optional(),
    include_obfuscation: flag('include_obfuscation'),
  }),
);

/** How the events of a response are read by the Durable Streams protocol. */
export const readEventsQuerySchema = z
  .object({
    /** `-1` for the first event, `now` for what comes, or a `Stream-Next-Offset` that was answered. */
    offset: member(z.string().regex(/^(-1|now|\d{16})$/), (value, refuse) =>
      typeof value === 'string' &&
      /^(-1|now|\d{16})$/.test(value) &&
      (value === 'now' || Number.isSafeInteger(Number(value)))
        ? value
        : refuse("'offset' must be -1, now, or an offset that this server has answered with."),
    ).optional(),
    live: member(z.enum(['long-poll', 'sse']), (value, refuse) =>
      value === 'long-poll' || value === 'sse' ? value : refuse("'live' must be long-poll or sse."),
    ).optional(),
    cursor: member(z.string().regex(/^\d{1,15}$/), (value, refuse) =>
      typeof value === 'string' && /^\d{1,15}$/.test(value)
        ? value
        : refuse("'cursor' must be a Stream-Cursor that this server has answered with."),
    ).optional(),
    include_obfuscation: flag('include_obfuscation'),
  })
  .superRefine(({ live, offset }, context) => {
    if (live !== undefined && offset === undefined) {
      const message = "'offset' is required with 'live'.";
      context.addIssue({
        code: 'custom',
        path: ['offset'],
        params: { code: 'missing_required_parameter', message },
      });
    }
  });

/** Headers of a create request, under the names that errors use. */
export const createResponseHeadersSchema = z.preprocess(
  (headers) => ({ 'Idempotency-Key': membersOf(headers)['idempotency-key'] }),
  z.object({
    'Idempotency-Key': member(z.string().min(1).max(255), (value, refuse) =>
      typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)
        ? value
        : refuse("'Idempotency-Key' must be 1 to 255 visible ASCII characters."),
    ).optional(),
  }),
);

/** Reports that a value is refused. The reader returns what this returns. */
type Refuse = (message: string, code?: ErrorCode) => unknown;

/**
 * Makes the schema of a member that arrives as text. `read` turns the text into a value, and `schema` describes the
 * value.
 *
 * A default is also given as metadata of `schema`: zod omits it from the JSON Schema of anything preprocessed.
 */
export function member<Schema extends z.ZodType>(
  schema: Schema,
  read: (value: unknown, refuse: Refuse) => unknown,
) {
  return z.preprocess(
    (value, context) =>
      read(value, (message, code = 'invalid_value') => {
        context.addIssue({ code: 'custom', params: { code, message } });
        return z.NEVER;
      }),
    schema,
  );
}

function flag(name: string) {
  return member(z.boolean().meta({ default: false }), (value, refuse) =>
    value === 'true' || value === 'false' ? value === 'true' : refuse(`'${name}' must be true or false.`),
  ).default(false);
}

/** One of several words. The first is the default. */
export function choice<Word extends string>(name: string, words: readonly [Word, ...Word[]]) {
  return member(z.enum(words).meta({ default: words[0] }), (value, refuse) =>
    words.some((word) => word === value) ? value : refuse(`'${name}' must be one of ${words.join(', ')}.`),
  ).default(words[0]);
}

/** The id of an element, which the handler looks for. Several values match none, and neither does an empty one. */
export function anyId() {
  return member(z.string(), (value) => (typeof value === 'string' ? value : ''));
}

/** The number of elements of a page. */
export function pageLimit({ most = 100, usual = 20 } = {}) {
  return member(z.int().min(1).max(most).meta({ default: usual }), (value, refuse) =>
    typeof value === 'string' && /^-?\d{1,15}$/.test(value)
      ? Number(value)
      : refuse("'limit' must be an integer.", 'invalid_type'),
  ).default(usual);
}

const includeSchema = createResponseSchema.pick({ include: true });

/** The `include` of a create request, except that an error names the whole member and not one element. */
function include() {
  return member(z.array(z.enum(includeValues)), (value, refuse) => {
    const given = { include: [value].flat() };
    const parsed = includeSchema.safeParse(given);
    return parsed.success ? given.include : refuse(firstProblem(parsed.error, given).message);
  }).default([]);
}

/** Merges `include[]` into `include`. Both SDKs send `include[]=a&include[]=b`; some clients leave out the brackets. */
function withBrackets(query: unknown): Record<string, unknown> {
  const { 'include[]': bracketed, ...members } = membersOf(query);
  return bracketed === undefined
    ? members
    : { ...members, include: [bracketed, members['include'] ?? []].flat() };
}

/** Removes the cursor unless `stream=true`. It has no effect then, and even a wrong one is no error. */
function withoutCursorUnlessStreamed(query: Record<string, unknown>): Record<string, unknown> {
  return query['stream'] === 'true' ? query : { ...query, starting_after: undefined };
}

function membersOf(part: unknown): Record<string, unknown> {
  return typeof part === 'object' && part !== null ? { ...part } : {};
}
