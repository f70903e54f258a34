import type { ResponseEnd } from '@sluice/contract';

/** What a response took of tokens, as its upstream counted them. */
export interface ToldUsage {
  input: number;
  /** Tokens of the input that came from a cache of the upstream. */
  cached: number;
  /** Tokens of the input that were written to one. */
  cacheWrite: number;
  output: number;
  /** Tokens of the output that were reasoning. */
  reasoning: number;
}

/** What the outbox says of an end beside what the record knows. */
export interface ToldEnd {
  model: string;
  /** The value of the member of its metadata by which usage is told apart; absent without one. */
  label?: string | undefined;
  /** Absent when no upstream has counted. */
  usage?: ToldUsage | undefined;
  /** About so many tokens, where an upstream was cut off before it counted. */
  uncounted?: number | undefined;
  /** The code of the error with which it failed. */
  code?: string | undefined;
  /** The address that its request names for news of its end; absent without one. */
  webhookUrl?: string | undefined;
}

/** The request of a response, as far as the outbox tells of it. */
export interface ToldRequest {
  model: string;
  metadata?: Readonly<Record<string, string>> | null | undefined;
  webhook_url?: string | undefined;
}

/** `label` is the name of the member of the metadata. */
export function printTold({
  request: { model, metadata, webhook_url: webhookUrl },
  label,
  end: { usage, error },
  uncounted,
}: {
  request: ToldRequest;
  label: string | undefined;
  end: Pick<ResponseEnd, 'usage' | 'error'>;
  uncounted?: number | undefined;
}): string {
  const told: ToldEnd = {
    model,
    label: label === undefined ? undefined : metadata?.[label],
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
    webhookUrl,
  };
  return JSON.stringify(told);
}
