import { type ErrorCode, parsePart, ServiceError } from '@sluice/contract';
import { facetFields, type ResponseSearch, responseSearchSchema } from '@sluice/contract/admin';
import { parseCursor } from '@sluice/journal';
import { z } from 'zod';

/** Members of a filter that may be repeated in a query, as alternatives. */
const lists = ['status', 'model', 'tenant', 'tier', 'mode', 'error_code', 'metadata'] as const;
const numbers = ['from', 'to', 'limit'] as const;

const filterShape = {
  ...responseSearchSchema.shape,
  id: z
    .string()
    .max(128)
    .regex(/^[A-Za-z0-9_-]*$/)
    .optional(),
  request_id: z
    .string()
    .max(64)
    .regex(/^[\w-]*$/)
    .optional(),
  metadata: z
    .array(
      z
        .string()
        .max(600)
        .refine((pair) => pair.includes(':'), pairExpected()),
    )
    .max(16)
    .optional(),
};

const after = z
  .string()
  .refine((text) => parseCursor(text) !== undefined, refused("'after' must be the 'next' of another page."))
  .transform((text) => parseCursor(text));

/** The errors of a query with a filter. */
export const filterErrors: readonly ErrorCode[] = [
  'invalid_type',
  'invalid_value',
  'unsupported_parameter',
  'string_above_max_length',
  'array_above_max_length',
  'decimal_below_min_value',
  'decimal_above_max_value',
  'integer_below_min_value',
  'integer_above_max_value',
  'server_is_overloaded',
];

/** A page of a list. */
export const listQuerySchema = query({
  ...filterShape,
  limit: z.int().min(1).max(200).default(50),
  after: after.optional(),
});

export const facetsQuerySchema = query({
  ...filterShape,
  field: z.enum(facetFields).optional(),
  prefix: z.string().max(256).optional(),
});

export const filterQuerySchema = query(filterShape);

/** The filter in a query. Absent members are left out. */
export function filterOf(given: ResponseSearch): ResponseSearch {
  const filter: Record<string, unknown> = {};
  for (const name of Object.keys(responseSearchSchema.shape)) {
    const value: unknown = Reflect.get(given, name);
    if (value !== undefined) filter[name] = value;
  }
  // Each member was held to its schema.
  return filter;
}

/** A query held to a shape: members that may be repeated become lists, and numbers numbers. Unknown names are refused. */
function query<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const schema = z.object(shape);
  return z.preprocess((given, context) => {
    const members: Record<string, unknown> = {};
    try {
      for (const [name, value] of Object.entries(given ?? {})) {
        if (!Object.hasOwn(shape, name)) throw unknownName(name);
        members[name] = read(name, value);
      }
      // Here, where a problem is that of the value in its list.
      parsePart(schema, members);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { code, message, param } = error;
      context.addIssue({ code: 'custom', path: [param ?? ''], params: { code, message } });
      return z.NEVER;
    }
    return members;
  }, schema);
}

function unknownName(name: string): ServiceError {
  const param = name.slice(0, 64);
  return new ServiceError('unsupported_parameter', `'${param}' is no filter here.`, { param });
}

function read(name: string, value: unknown): unknown {
  if (lists.some((each) => each === name)) return [value].flat();
  const isNumber = numbers.some((each) => each === name) && typeof value === 'string';
  return isNumber && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
}

function refused(message: string) {
  return { params: { code: 'invalid_value', message } };
}

function pairExpected() {
  return refused("Each 'metadata' must be a pair: key:value.");
}
