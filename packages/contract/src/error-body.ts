import { z } from 'zod';
import { errorCatalogue, errorCodes, errorRow, type FailureCode, failureCodes } from './errors.ts';

/** The `error` member of the body of every refusal. */
export const errorBodySchema = z.object({
  message: z.string(),
  type: z.enum([...new Set(errorCodes.map((code) => errorCatalogue[code].type))]),
  param: z.string().nullable(),
  code: z.enum(errorCodes),
});
export type ErrorBody = z.output<typeof errorBodySchema>;

/** The body of every answer whose status is not 2xx. */
export const errorEnvelopeSchema = z.object({ error: errorBodySchema });

/** The `error` member of a failed response. */
export const failureBodySchema = errorBodySchema.extend({
  code: z.enum(failureCodes),
});
export type FailureBody = z.output<typeof failureBodySchema>;

/** Makes the `error` of a failed response. Message and param default to those of the catalogue. */
export function failureBody(
  code: FailureCode,
  message: string = errorRow(code).message,
  param: string | null = errorRow(code).param ?? null,
): FailureBody {
  return { message, type: errorRow(code).type, param, code };
}
