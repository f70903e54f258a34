import type { ResponseEnd } from '@sluice/contract';

/** What a response took of tokens, as its upstream counted them. */
export interface ToldUsage {
  input: number;
  /** Those of the input that came from a cache of the upstream. */
  cached: number;
  /** Those of the input that were written to one. */
  cacheWrite: number;
  output: number;
  /** Those of the output that were reasoning. */
  reasoning: number;
}

/** What the outbox says of an end beside what the record knows. */
export interface ToldEnd {
  model: string;
  /** Absent when no upstream has counted. */
  usage?: ToldUsage | undefined;
  /** About so many tokens, where an upstream was cut off before it counted. */
  uncounted?: number | undefined;
  /** The code of the error with which it failed. */
  code?: string | undefined;
}

export function printTold({
  model,
  end: { usage, error },
  uncounted,
}: {
  model: string;
  end: Pick<ResponseEnd, 'usage' | 'error'>;
  uncounted?: number | undefined;
}): string {
  const told: ToldEnd = {
    model,
    usage: usage
      ? {
          input: usage.input_tokens,
          cached: usage.input_tokens_details.cached_tokens,
          cacheWrite: usage.input_tokens_details.cache_write_tokens,
          output: usage.output_tokens,
          reasoning: usage.output_tokens_details.reasoning_tokens,
        }
      : undefined,
    uncounted,
    code: error?.code,
  };
  return JSON.stringify(told);
}
