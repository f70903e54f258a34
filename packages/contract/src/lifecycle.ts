import type { FailureBody } from './error-body.ts';
import type { LifecycleType } from './events.ts';
import type { OutputItem, Usage } from './output.ts';
import type { IncompleteReason, ResponseEnd, Status } from './response.ts';

/** The only state machine: each status with those that may follow it. Nothing follows a terminal status. */
export const transitions = {
  queued: ['in_progress', 'failed', 'cancelled'],
  in_progress: ['completed', 'incomplete', 'failed', 'cancelled'],
  completed: [],
  incomplete: [],
  failed: [],
  cancelled: [],
} as const satisfies Record<Status, readonly Status[]>;

export function isTerminal(status: Status): boolean {
  return transitions[status].length === 0;
}

/** Whether an ended response leaves its Idempotency-Key free, so that the same request can be tried again. */
export function isRepeatable(status: Status): boolean {
  return status === 'failed' || status === 'cancelled';
}

/** Returns the statuses that this one may follow. The scripts that change a status get them as arguments. */
export function statusesBefore(next: Status): Status[] {
  return (Object.keys(transitions) as Status[]) // the table's own keys
    .filter((from) => (transitions[from] as readonly Status[]).includes(next));
}

/**
 * Returns the event type that shows a status.
 *
 * A cancelled response ends with `response.incomplete`. Neither API has an event for it, and the stream helper of
 * openai-node throws on an event it does not know.
 */
export function eventTypeOf(status: Status): LifecycleType {
  return status === 'cancelled' ? 'response.incomplete' : `response.${status}`;
}

interface Produced {
  output: OutputItem[];
  usage: Usage | null;
}

/** The model finished, before a `stopSequence` if its upstream says so. `completedAt` is in Unix seconds. */
export function completed(produced: Produced, completedAt: number, stopSequence?: string): ResponseEnd {
  return {
    status: 'completed',
    completed_at: completedAt,
    incomplete_details: null,
    error: null,
    ...(stopSequence !== undefined && { stop_sequence: stopSequence }),
    ...produced,
  };
}

/** The model stopped at a limit. The output so far is kept, and its last item may be incomplete. */
export function incomplete(produced: Produced, reason: Exclude<IncompleteReason, 'cancelled'>): ResponseEnd {
  return {
    status: 'incomplete',
    completed_at: null,
    incomplete_details: { reason },
    error: null,
    ...produced,
  };
}

export function failed(produced: Produced, error: FailureBody): ResponseEnd {
  return { status: 'failed', completed_at: null, incomplete_details: null, error, ...produced };
}

/** The caller asked for the end, or no caller is left. */
export function cancelled(produced: Produced): ResponseEnd {
  return {
    status: 'cancelled',
    completed_at: null,
    incomplete_details: { reason: 'cancelled' },
    error: null,
    ...produced,
  };
}

export const nothingProduced: Produced = { output: [], usage: null };

/**
 * Whether a response can be read by its id after its end. One with `store: false` is for its callers alone, unless it runs in
 * the background: its caller comes back for it.
 */
export function isKeptAfterEnd(request: {
  store?: boolean | undefined;
  background?: boolean | undefined;
}): boolean {
  return request.store !== false || request.background === true;
}

/** How the caller of a response gets it. One that streams and runs in the background is a stream. */
export function modeOf(request: {
  stream?: boolean | undefined;
  background?: boolean | undefined;
}): 'whole' | 'stream' | 'background' {
  if (request.stream === true) return 'stream';
  return request.background === true ? 'background' : 'whole';
}
