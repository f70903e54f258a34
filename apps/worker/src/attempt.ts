import {
  allowsParallelCalls,
  type Generation,
  includesEncryptedReasoning,
  type UnnumberedEvent,
} from '@sluice/contract';
import type { ProviderError } from '@sluice/providers';
import type { ClaimedRecord } from '@sluice/response-store';
import { type AttemptTrace, parseTraceparent, randomBytes, traceOfAttempt } from '@sluice/runtime';
import type { ContentSealer } from '@sluice/response-store/sealed-content';
import { type AbortReason, AttemptAborted } from './abort-reasons.ts';
import { Assembler } from './assemble-events.ts';
import type { LargeWrites } from './large-writes.ts';
import type { ModelRoute, RouteBlock, TriedRoutes } from './model-routes.ts';
import type { OutputBudget, OutputShare } from './output-budget.ts';
import type { AttemptWriter, ResponseLog } from './response-log.ts';
import { OwnLimits } from './own-limits.ts';
import type { WaitingResponse } from './route-health.ts';
import type { RunningAttempts } from './running-attempts.ts';
import type { Affinity } from './servers/affinity.ts';

export interface AttemptDependencies {
  log: ResponseLog;
  running: RunningAttempts;
  /** The memory that all attempts of the process share for their answers. */
  outputBudget: OutputBudget;
  largeWrites: LargeWrites;
  /** Returns what seals and opens the content of a tenant. */
  sealerOf: (tenant: string) => ContentSealer;
  /** For durations, in milliseconds. */
  now: () => number;
  /** Absent while traces are off. */
  traces?: AttemptTraces | undefined;
  /** A response with a caller does not wait for an upstream that will have been down for longer than this, in milliseconds. */
  openWaitMs: number;
}

/** How attempts are traced. */
export interface AttemptTraces {
  /** Whether upstreams are told of the trace of a call. */
  propagates: boolean;
}

/** The routes of a response, and its failures and limits, over all of its attempts in this process. */
export interface RouteHistory {
  /** Those that its model had at the first attempt here, whatever becomes of the model meanwhile; servers behind a name as they are now. */
  readonly routes: readonly ModelRoute[];
  readonly tried: TriedRoutes;
  readonly limits: OwnLimits;
  /** The tokens of its claims here. After a failover that has lost the last one, the one before it may stand. */
  readonly claims: readonly string[];
}

/** How far an attempt has come with its calls. */
export interface CallProgress {
  /** The failure of the last call, if its upstream refused it before any output. */
  refusal?: ProviderError | undefined;
  /** Its place among the responses that wait for routes. */
  waiter?: WaitingResponse | undefined;
  /** Since when it waits for a route, by the clock for durations, and why; undefined while it does not. */
  wait?: { since: number; because: RouteBlock['because'] } | undefined;
}

/** One claimed response in this process: its output, its writer, and the signal that ends it. */
export class Attempt {
  readonly record: ClaimedRecord;
  readonly assembler: Assembler;
  readonly writer: AttemptWriter;
  readonly share: OutputShare;
  /** Undefined if traces are off, or were off when the response was accepted. */
  readonly trace: AttemptTrace | undefined;
  /** Names the response and its tenant to the routes that it calls. */
  readonly owner: { tenant: string; responseId: string; limits: OwnLimits };
  /** How often each route has failed for the response. */
  readonly tried: TriedRoutes;
  readonly calls: CallProgress = {};
  /** The request to the upstream; undefined until it was read. */
  generation: Generation | undefined;
  /** Where its calls should go among the servers of a provider; undefined until the request was read, and if nothing says so. */
  affinity: Affinity | undefined;
  /** Key of the server that it called last, if its provider has several. */
  server: string | undefined;
  readonly #history: RouteHistory | undefined;
  #isVisible = false;
  readonly #largeWrites: LargeWrites;
  readonly #now: () => number;
  readonly #claimedAt: number;
  readonly #openWaitMs: number;
  readonly #controller = new AbortController();
  readonly #unregister: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    dependencies: AttemptDependencies,
    record: ClaimedRecord,
    /** Undefined when the response ends without a run. */
    history: RouteHistory | undefined,
  ) {
    const isRun = history !== undefined;
    const { log, running, sealerOf, now, traces, openWaitMs } = dependencies;
    this.record = record;
    this.owner = { tenant: record.tenant, responseId: record.id, limits: history?.limits ?? new OwnLimits() };
    this.#history = history;
    this.tried = history?.tried ?? new Map();
    this.share = dependencies.outputBudget.open(record.tenant);
    this.#largeWrites = dependencies.largeWrites;
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

  /** Read anew at each use: servers behind a name come and go while the response waits, and one that is gone is closed. */
  get routes(): readonly ModelRoute[] {
    return this.#history?.routes ?? [];
  }

  /** Whether the caller may have seen output of this attempt, so that no other may follow it. */
  get isVisible(): boolean {
    return this.#isVisible;
  }

  /** See `RouteHistory`. */
  get claims(): readonly string[] {
    return this.#history?.claims ?? [this.record.token];
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

  /** Writes events. Those that repeat a large answer wait for their turn; the promise resolves after that. */
  write(events: readonly UnnumberedEvent[]): Promise<void> | undefined {
    if (!this.record.streams || events.length === 0) return undefined;
    this.#isVisible = true;
    if (this.share.isLarge && events.some(({ type }) => type.endsWith('.done'))) {
      return this.#largeWrites.run(this.record, () => writeEach(this.writer, events));
    }
    for (const event of events) this.writer.write(event);
    return undefined;
  }

  /**
   * Notes how many bytes of memory the output takes. Await the promise, if there is one, before the output grows: the store
   * is behind, or the process has no room for more.
   */
  makeRoom(outputBytes: number): Promise<void> | undefined {
    this.share.output = outputBytes + this.writer.waitingCharacters;
    if (!this.writer.isBehind && this.share.mayGrow) return undefined;
    return this.#waitForRoom(outputBytes);
  }

  /** Frees the memory that it holds, and what could still end it. Safe to call twice. */
  close(): void {
    this.share.close();
    clearTimeout(this.#timer);
    this.#unregister();
  }

  async #waitForRoom(outputBytes: number): Promise<void> {
    await this.writer.flush();
    this.share.output = outputBytes;
    await this.share.room(this.signal);
  }

  #abort(reason: AbortReason): void {
    if (!this.signal.aborted) this.#controller.abort(new AttemptAborted(reason));
  }
}

/** Writes events, and waits whenever the store is behind, so that few printed events are in memory at a time. */
export async function writeEach(writer: AttemptWriter, events: readonly UnnumberedEvent[]): Promise<void> {
  for (const event of events) {
    writer.write(event);
    if (writer.isBehind) await writer.flush();
  }
}

function traceOf({ traceparent, losses, isFirstClaim }: ClaimedRecord): AttemptTrace | undefined {
  const origin = parseTraceparent(traceparent);
  return origin && traceOfAttempt(origin, { losses, isFirst: isFirstClaim });
}

/** The members that every fact about an attempt has. */
export function about({ id, request, attempt }: ClaimedRecord) {
  return { responseId: id, model: request.model, attempt };
}
