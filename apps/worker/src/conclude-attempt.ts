import type { FailureCode } from '@sluice/contract';
import type { FinishReason } from '@sluice/providers';
import type { ClaimEnd } from '@sluice/response-store';
import type { AbortReason } from './abort-reasons.ts';
import type { RouteBlock } from './model-routes.ts';

/** The failure of an attempt, as its provider or this process reports it. */
export interface AttemptFailure {
  code: FailureCode;
  disposition: 'retry' | 'fail';
  retryAfterMs?: number | undefined;
  publicMessage?: string | undefined;
  param?: string | undefined;
}

/** How the call of the model ended. */
export type AttemptEnding =
  | { kind: 'finished'; reason: FinishReason }
  | { kind: 'failed'; failure: AttemptFailure }
  | { kind: 'aborted'; reason: AbortReason }
  /** No route takes calls. */
  | { kind: 'blocked'; block: RouteBlock };

/** How a response ends. */
export type EndPlan =
  | { status: 'completed' }
  | { status: 'incomplete'; reason: 'max_output_tokens' | 'content_filter' }
  | { status: 'cancelled' }
  /** `sentence` and `param` stand in for those of the code. */
  | { status: 'failed'; code: FailureCode; sentence?: string | undefined; param?: string | undefined };

/** The step that follows an attempt that is over. */
export type Conclusion =
  /** `because`: why it ends although no upstream was called; absent after a call. */
  | { kind: 'end'; plan: EndPlan; because?: string }
  | { kind: 'retry'; failure: AttemptFailure }
  /** Back to the queue, for as long as no route takes calls. */
  | { kind: 'postpone'; block: RouteBlock }
  /** Back to the queue, for another worker. */
  | { kind: 'give_back' }
  /** Do nothing: another attempt holds the lease. */
  | { kind: 'leave' }
  /** Give up for now: nothing can be written, whether or not another attempt holds the lease. The next claim decides, and does not run it if it is `isShown`. */
  | { kind: 'give_up'; isShown: boolean }
  /** Fail the job: nothing can be written, by a defect of ours. The rescue looks after the response. */
  | { kind: 'report_defect' };

/** How long a response may wait for a route, in milliseconds. */
export interface WaitFacts {
  /** Time left for all attempts together. */
  remainingMs: number;
  /** It does not wait for an upstream that will have been down for longer than this. */
  patienceMs: number;
}

export interface AttemptFacts extends WaitFacts {
  /** The caller may have seen output. */
  isVisible: boolean;
  /** Another attempt is allowed. */
  mayRetry: boolean;
}

/**
 * Decides what to do about an attempt that is over. While no output is visible, another attempt may follow, in this process
 * or another. After that the response can only end, because two answers must never be spliced into one.
 */
export function concludeAttempt(ending: AttemptEnding, facts: AttemptFacts): Conclusion {
  const { isVisible, mayRetry } = facts;
  switch (ending.kind) {
    case 'finished':
      return { kind: 'end', plan: planOfFinish(ending.reason) };
    case 'failed': {
      const { failure } = ending;
      if (failure.disposition === 'retry' && !isVisible && mayRetry) return { kind: 'retry', failure };
      return { kind: 'end', plan: planOfFailure(failure) };
    }
    case 'aborted':
      return concludeAbort(ending.reason, isVisible);
    case 'blocked':
      return concludeBlocked(ending.block, facts);
  }
}

/**
 * Whether a response may wait for a route. It waits for a parked route as long as it has time, and for an upstream that is
 * down as long as it has patience: after that, waiting would only make an error late. It always waits for its turn,
 * because nobody knows how long that takes.
 */
export function mayWait(block: RouteBlock, { remainingMs, patienceMs }: WaitFacts): boolean {
  if (block.because === 'busy' || block.because === 'saturated') return true;
  if (block.waitMs >= remainingMs) return false;
  return block.because === 'parked' || block.downMs + block.waitMs < patienceMs;
}

function concludeBlocked(block: RouteBlock, facts: WaitFacts): Conclusion {
  if (mayWait(block, facts)) return { kind: 'postpone', block };
  const code = block.because === 'open' ? 'upstream_error' : 'server_is_overloaded';
  return { kind: 'end', plan: { status: 'failed', code }, because: `upstreams_${block.because}` };
}

/** The end of a response that failed for good. */
export function planOfFailure({ code, publicMessage: sentence, param }: AttemptFailure): EndPlan {
  return { status: 'failed', code, sentence, param };
}

function planOfFinish(reason: FinishReason): EndPlan {
  switch (reason) {
    case 'stop':
    case 'function_call':
      return { status: 'completed' };
    case 'max_output_tokens':
    case 'content_filter':
      return { status: 'incomplete', reason };
  }
}

function concludeAbort(reason: AbortReason, isVisible: boolean): Conclusion {
  switch (reason) {
    case 'cancelled':
      return { kind: 'end', plan: { status: 'cancelled' } };
    case 'timed_out':
      return { kind: 'end', plan: { status: 'failed', code: 'timeout' } };
    case 'interrupted':
      return isVisible
        ? { kind: 'end', plan: { status: 'failed', code: 'server_error' } }
        : { kind: 'give_back' };
    case 'superseded':
      return { kind: 'leave' };
    case 'out_of_touch':
    case 'events_lost':
      // A reader may have what the store has lost, so the log does not tell the next claim of it.
      return { kind: 'give_up', isShown: isVisible };
    case 'unwritable':
      return { kind: 'report_defect' };
  }
}

const partial =
  'The worker that ran this response died after part of its output was sent. The output is partial; a retry is safe.';

/** The end of a response that a claim found unfit to run, or to run again. */
export function concludeClaim(because: ClaimEnd): EndPlan {
  switch (because) {
    case 'cancelled':
      return { status: 'cancelled' };
    case 'expired':
      return { status: 'failed', code: 'timeout' };
    case 'exhausted':
    case 'lost':
    case 'input_lost':
      return { status: 'failed', code: 'server_error' };
    case 'broken_off':
      return { status: 'failed', code: 'server_error', sentence: partial };
  }
}
