import { ServiceError } from '@sluice/contract';
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
