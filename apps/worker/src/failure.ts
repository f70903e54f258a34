import { errorRow, type FailureBody, type FailureCode, failureBody } from '@sluice/contract';

/**
 * The error of a failed response: a fixed sentence for its code, or a more exact one, and the id of the request, by which an
 * operator finds the cause in the log.
 */
export function failureOf(
  { requestId }: { requestId: string },
  code: FailureCode,
  sentence: string = errorRow(code).message,
  param?: string,
): FailureBody {
  return failureBody(code, requestId === '' ? sentence : `${sentence} Request id: ${requestId}.`, param);
}
