import { createResponseSchema, firstProblem, ServiceError } from '@sluice/contract';

const includeSchema = createResponseSchema.pick({ include: true });

/** A query as Fastify parses it: a repeated name is a list. */
export type Query = Record<string, string | string[] | undefined>;

export function readBoolean(query: Query, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === 'false') return false;
  if (value === 'true') return true;
  throw new ServiceError('invalid_value', `'${name}' must be true or false.`, { param: name });
}

/** A whole number within bounds, or the default when it is absent. */
export function readInteger(
  query: Query,
  name: string,
  bounds: { min: number; max: number; standard: number },
) {
  const value = query[name];
  if (value === undefined) return bounds.standard;
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
  if (number === undefined)
    throw new ServiceError('invalid_type', `'${name}' must be an integer.`, { param: name });
  if (number < bounds.min) {
    throw new ServiceError(
      'integer_below_min_value',
      `Invalid '${name}': expected a value >= ${bounds.min}.`,
      {
        param: name,
      },
    );
  }
  if (number > bounds.max) {
    throw new ServiceError(
      'integer_above_max_value',
      `Invalid '${name}': expected a value <= ${bounds.max}.`,
      {
        param: name,
      },
    );
  }
  return number;
}

export function readChoice<Choice extends string>(
  query: Query,
  name: string,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  const value = query[name];
  if (value === undefined) return choices[0];
  const chosen = choices.find((choice) => choice === value);
  if (chosen) return chosen;
  throw new ServiceError('invalid_value', `'${name}' must be one of ${choices.join(', ')}.`, { param: name });
}

/** `include[]=a&include[]=b`, as both SDKs send it, or `include=a`. */
export function readInclude(query: Query): string[] {
  const given = [query['include[]'] ?? [], query.include ?? []].flat();
  const parsed = includeSchema.safeParse({ include: given });
  if (parsed.success) return parsed.data.include ?? [];
  const { message } = firstProblem(parsed.error, { include: given });
  throw new ServiceError('invalid_value', message, { param: 'include' });
}
