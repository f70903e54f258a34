import { badAnswer, type Failure, failedResponse } from './failure.ts';

/** The tokens of a response, as the endpoint counts them. */
export interface Tokens {
  input: number;
  output: number;
}

/** The end of a response, as its object states it. */
export type ResponseEnd =
  | { kind: 'pending'; id: string }
  | { kind: 'answered'; tokens: Tokens | undefined }
  | { kind: 'failed'; failure: Failure };

/** Reads the end of a response from its JSON. Never throws. */
export function readEnd(json: string): ResponseEnd {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { kind: 'failed', failure: badAnswer('the answer is not JSON') };
  }
  return endOf(value);
}

/**
 * Reads the end of a response. An incomplete one counts as answered, because its limits are those of its request, unless
 * it was cancelled.
 */
export function endOf(value: unknown): ResponseEnd {
  if (!isObject(value)) return { kind: 'failed', failure: badAnswer('the answer is not a response') };
  const { id, status, error, incomplete_details, usage, output } = value;
  switch (status) {
    case 'queued':
    case 'in_progress':
      return typeof id === 'string'
        ? { kind: 'pending', id }
        : { kind: 'failed', failure: badAnswer('the response has no id') };
    case 'failed':
      return { kind: 'failed', failure: failedResponse(error, 'failed') };
    case 'cancelled':
      return { kind: 'failed', failure: failedResponse(error, 'cancelled') };
    case 'incomplete':
      if (isObject(incomplete_details) && incomplete_details['reason'] === 'cancelled')
        return { kind: 'failed', failure: failedResponse(error, 'cancelled') };
      return { kind: 'answered', tokens: tokensOf(usage) };
    case 'completed':
      return { kind: 'answered', tokens: tokensOf(usage) };
    default:
      // Some servers send no status with a whole response.
      return Array.isArray(output)
        ? { kind: 'answered', tokens: tokensOf(usage) }
        : { kind: 'failed', failure: badAnswer('the answer is not a response') };
  }
}

function tokensOf(usage: unknown): Tokens | undefined {
  if (!isObject(usage)) return undefined;
  const { input_tokens: input, output_tokens: output } = usage;
  return typeof output === 'number' ? { input: typeof input === 'number' ? input : 0, output } : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
