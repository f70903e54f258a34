import {
  type CreateResponse,
  firstProblem,
  parseCreateResponse,
  type ParseOptions,
  presentMembers,
  ServiceError,
} from '@sluice/contract';
import { z } from 'zod';

/** A member that has no place in a response. A request that relies on it is refused. */
export const unsupported = z
  .unknown()
  .refine((value) => value === undefined || value === null, { params: { code: 'unsupported_parameter' } })
  .optional();

/** The same error, about the member that its caller wrote. */
export function aboutMember(error: ServiceError, name: string | null): ServiceError {
  const { code, message, param, retryAfterMs, shouldRetry, cause } = error;
  if (name === param || param === null || name === null) return error;
  return new ServiceError(
    code,
    message.replaceAll(`'${param}'`, () => `'${name}'`),
    {
      param: name,
      retryAfterMs: retryAfterMs ?? null,
      ...(shouldRetry !== undefined && { shouldRetry }),
      cause,
    },
  );
}

/** How a request is translated. */
export interface TranslationOptions extends Pick<ParseOptions, 'hostedTools'> {
  /** Whether the caller has a key with which it can come back for the answer. */
  canReturn?: boolean;
}

/** A request of another protocol as that of a response. */
export interface Translated<Delivery> {
  request: CreateResponse;
  delivery: Delivery;
  /** The same error, about the member that the caller wrote. */
  named: (error: ServiceError) => ServiceError;
}

/**
 * The members of a body, which must have some of them.
 *
 * @throws {ServiceError} with a code whose status is 400, for the first problem.
 */
export function membersOfBody<Schema extends z.ZodType>(
  body: unknown,
  schema: Schema,
  required: readonly string[],
): z.output<Schema> {
  const given = presentMembers(body);
  const missing = required.find((name) => given[name] === undefined);
  if (missing !== undefined) throw new ServiceError('missing_required_parameter', { param: missing });
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw firstProblem(parsed.error, given);
  return parsed.data;
}

/**
 * Checks a request as that of a response. A member that is undefined is absent.
 *
 * @throws {ServiceError} with a code whose status is 400, about the member that the caller wrote.
 */
export function checkedRequest(
  members: Record<string, unknown>,
  options: Pick<ParseOptions, 'hostedTools' | 'longestToolName'>,
  named: (error: ServiceError) => ServiceError,
): CreateResponse {
  try {
    const present = Object.entries(members).filter(([, value]) => value !== undefined);
    return parseCreateResponse(Object.fromEntries(present), options);
  } catch (error) {
    throw error instanceof ServiceError ? named(error) : error;
  }
}
