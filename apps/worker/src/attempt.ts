import {
  allowsParallelCalls,
  type Generation,
  includesEncryptedReasoning,
  type UnnumberedEvent,
} from '@sluice/contract';
import type { ClaimedRecord } from '@sluice/response-store';
import { type AttemptTrace, parseTraceparent, randomBytes, traceOfAttempt } from '@sluice/runtime';
import type { ContentSealer } from '@sluice/sealed-content';
import { type AbortReason, AttemptAborted } from './abort-reasons.ts';
import { Assembler } from './assemble-events.ts';
import type { AttemptWriter, ResponseLog } from './response-log.ts';
import { OwnLimits } from './own-limits.ts';
import type { RunningAttempts } from './running-attempts.ts';

export interface AttemptDependencies {
  log: ResponseLog;
  running: RunningAttempts;
  /** What seals and opens the content of a tenant. */
  sealerOf: (tenant: string) => ContentSealer;
  /** For durations, in milliseconds. */
  now: () => number;
  /** Absent while traces are off. */
  traces?: AttemptTraces | undefined;
  /** A response with a caller waits only for upstreams that come back before they were down for this long, in milliseconds. */
  openWaitMs: number;
}

/** How attempts are traced. */
export interface AttemptTraces {
  /** Whether upstreams are told of the trace of a call. */
  propagates: boolean;
}

/** One claimed response in the hands of this process: what it has produced, where it writes, and what may end it. */
export class Attempt {
  readonly record: ClaimedRecord;
  readonly assembler: Assembler;
  readonly writer: AttemptWriter;
  /** Undefined while traces are off, and where they were when the response was accepted. */
  readonly trace: AttemptTrace | undefined;
  /** Whose calls these are, as routes know it. */
  readonly owner: { tenant: string; responseId: string; limits: OwnLimits };
  /** What the upstream was asked for; undefined until it was. */
  generation: Generation | undefined;
  #isVisible = false;
  readonly #now: () => number;
  readonly #claimedAt: number;
  readonly #openWaitMs: number;
  readonly #controller = new AbortController();
  readonly #unregister: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    { log, running, sealerOf, now, traces, openWaitMs }: AttemptDependencies,
    record: ClaimedRecord,
    { isRun, limits = new OwnLimits() }: { isRun: boolean; limits?: OwnLimits },
  ) {
    this.record = record;
    this.owner = { tenant: record.tenant, responseId: record.id, limits };
    this.trace = traces && isRun ? traceOf(record) : undefined;
    this.#now = now;
    this.#openWaitMs = openWaitMs;
    this.#claimedAt = now();
    this.assembler = new Assembler({
      responseId: record.id,
      randomBytes,
      parallelCalls: allowsParallelCalls(record.request),
      isFollowed: record.streams,
      sealReasoning: includesEncryptedReasoning(record.request)
        ? (reasoning) => sealerOf(record.tenant).sealReasoning(reasoning)
        : undefined,
    });
    this.writer = log.writer(record, {
      // An end that is written without a run is not given up because it is wanted.
      onRefused: (reason) => {
        if (reason === 'failed') this.#abort('unwritable');
        else if (isRun) this.#abort(reason);
      },
      signal: this.#controller.signal,
    });
    this.#unregister = running.add(record.id, record.token, this.#controller);
    if (isRun) this.#timer = setTimeout(() => this.#abort('timed_out'), Math.max(record.remainingMs, 0));
  }

  /** Aborted, with a typed reason, when the attempt is to end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the caller may have seen output of this attempt, so that no other may follow it. */
  get isVisible(): boolean {
    return this.#isVisible;
  }

  get mayRetry(): boolean {
    return this.record.attempt < this.record.maxAttempts;
  }

  /** Time left for all attempts together, in milliseconds. */
  get remainingMs(): number {
    return this.record.remainingMs - (this.#now() - this.#claimedAt);
  }

  /** See `WaitFacts`. Nobody waits for a response in the background. */
  get patienceMs(): number {
    return this.record.request.background ? Number.POSITIVE_INFINITY : this.#openWaitMs;
  }

  write(events: readonly UnnumberedEvent[]): void {
    if (!this.record.streams || events.length === 0) return;
    this.#isVisible = true;
    for (const event of events) this.writer.write(event);
  }

  /** Lets go of everything that could end it. */
  close(): void {
    clearTimeout(this.#timer);
    this.#unregister();
  }

  #abort(reason: AbortReason): void {
    if (!this.signal.aborted) this.#controller.abort(new AttemptAborted(reason));
  }
}

function traceOf({ traceparent, losses, isFirstClaim }: ClaimedRecord): AttemptTrace | undefined {
  const origin = parseTraceparent(traceparent);
  return origin && traceOfAttempt(origin, { losses, isFirst: isFirstClaim });
}

/** What telemetry says of every attempt. */
export function about({ id, request, attempt }: ClaimedRecord) {
  return { responseId: id, model: request.model, attempt };
}
