import type { ErrorBody } from './errors.ts';
import type { LifecycleType } from './events.ts';
import type { OutputItem, Usage } from './output.ts';
import type { IncompleteReason, ResponseEnd, Status } from './response.ts';

/** The only state machine: which status may follow which. A terminal one has no successor. */
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

/** The statuses a response may have before it gets this one; handed to the scripts that move it. */
export function statusesBefore(next: Status): Status[] {
  return (Object.keys(transitions) as Status[]) // the table's own keys
    .filter((from) => (transitions[from] as readonly Status[]).includes(next));
}

/**
 * The event that shows a status.
 *
 * A cancelled response ends in `response.incomplete`: neither API has an event of its own for it, and
 * openai-node's stream helper throws on one.
 */
export function eventTypeOf(status: Status): LifecycleType {
  return status === 'cancelled' ? 'response.incomplete' : `response.${status}`;
}

interface Produced {
  output: OutputItem[];
  usage: Usage | null;
}

/** `completedAt` in Unix seconds. */
export function completed(produced: Produced, completedAt: number): ResponseEnd {
  return {
    status: 'completed',
    completed_at: completedAt,
    incomplete_details: null,
    error: null,
    ...produced,
  };
}

/** The model stopped at a limit. Output so far is kept, its last item marked incomplete. */
export function incomplete(produced: Produced, reason: Exclude<IncompleteReason, 'cancelled'>): ResponseEnd {
  return {
    status: 'incomplete',
    completed_at: null,
    incomplete_details: { reason },
    error: null,
    ...produced,
  };
}

export function failed(produced: Produced, error: ErrorBody): ResponseEnd {
  return { status: 'failed', completed_at: null, incomplete_details: null, error, ...produced };
}

/** Somebody asked for the end, or nobody is left who waits for it. */
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
