import {
  type AdmissionLimits,
  isRefusal,
  parseSpent,
  parseUse,
  type Refusal,
  type SpentBudget,
  type WindowUse,
} from '@sluice/admission';
import type { Status } from '@sluice/contract';

export type AcceptResult =
  | {
      kind: 'accepted';
      acceptedAt: number;
      use: TenantUse;
      /** The priority of its job; undefined when it has to wait for a place of its tenant outside of the queue: see `standInLine`. */
      priority: number | undefined;
    }
  | { kind: Refusal; retryAfterMs: number; use: TenantUse }
  | { kind: 'over_budget'; spent: SpentBudget; use: TenantUse }
  /** The Idempotency-Key stands for a response that runs or has its answer: attach to it. */
  | { kind: 'duplicate'; responseId: string }
  /** The Idempotency-Key came with another body before, or its answer was not kept. */
  | { kind: 'mismatch' | 'gone' }
  | { kind: 'unresolved'; problem: ReferenceProblem }
  /** The deadline had passed when the store got to it. */
  | { kind: 'too_late' };

/** Where a tenant stands with its limits of a minute; undefined where it has none. */
export interface TenantUse {
  requests: WindowUse | undefined;
  tokens: WindowUse | undefined;
}

/** Why what a request continues from does not let it. */
export type ReferenceProblem =
  /** Unknown, foreign, deleted or not stored. */
  | { kind: 'previous_not_found' }
  | { kind: 'previous_not_finished'; status: Status }
  | { kind: 'context_too_large' | 'context_too_long' }
  | { kind: 'too_many_input_tokens'; tokens: number }
  /** `isForgotten`: the context holds more calls than are kept, so it may have been an older one. */
  | { kind: 'call_not_found'; callId: string; isForgotten: boolean };

/** Reads what the accept script answers; `awaited` are the calls that it looked for, in order. */
export function parseAcceptReply(
  [kind, left, reset, last, tokensLeft, tokensReset, more, budgetLeft]: (string | undefined)[],
  limits: AdmissionLimits,
  awaited: readonly string[],
): AcceptResult {
  const use = {
    requests: parseUse(limits.requestsPerMinute, left, reset),
    tokens: parseUse(limits.tokensPerMinute, tokensLeft, tokensReset),
  };
  if (isRefusal(kind)) return { kind, retryAfterMs: Number(last), use };
  switch (kind) {
    case 'accepted':
      return { kind, acceptedAt: Number(last), use, priority: more ? Number(more) : undefined };
    case 'over_budget':
      return { kind, spent: parseSpent(more, budgetLeft, limits), use };
    case 'duplicate':
      return { kind, responseId: left ?? '' };
    case 'mismatch':
    case 'gone':
    case 'too_late':
      return { kind };
    case 'previous_not_found':
    case 'context_too_large':
    case 'context_too_long':
      return { kind: 'unresolved', problem: { kind } };
    case 'too_many_input_tokens':
      return { kind: 'unresolved', problem: { kind, tokens: Number(left) } };
    case 'previous_not_finished':
      // The script passes the status of a record on.
      return { kind: 'unresolved', problem: { kind, status: left as Status } };
    case 'call_not_found': {
      const callId = awaited[Number(left) - 1] ?? '';
      return { kind: 'unresolved', problem: { kind, callId, isForgotten: reset === '1' } };
    }
    default:
      throw new TypeError(`The accept script answered '${String(kind)}'`);
  }
}
