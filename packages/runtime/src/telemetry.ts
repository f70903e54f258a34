import type { AttemptTrace, RequestTrace, TraceContext } from './trace-context.ts';

/**
 * The events of a process that are worth counting, logging or tracing, with their facts. One map serves all roles: metrics,
 * logs and anything else that needs them are listeners.
 *
 * Facts carry ids, words and numbers, never a prompt, an answer or a key. Times are milliseconds.
 */
export interface TelemetryEvents {
  /** A request was answered, its stream ended, or its caller left before its answer, with status 499. */
  'request.answered': {
    route: string;
    method: string;
    status: number;
    elapsedMs: number;
    /** Here and below: undefined while traces are off. */
    trace?: RequestTrace | undefined;
  };
  /** A turn of a WebSocket is over. `code` is that of the error that its client was sent. */
  'turn.answered': { code: string | undefined; elapsedMs: number; trace?: RequestTrace | undefined };
  /** A response was accepted and its job added. */
  'response.accepted': {
    responseId: string;
    requestId: string;
    tenant: string;
    model: string;
    mode: CallMode;
    tier: string;
    /** By the store's clock. */
    acceptedAt: number;
    /** Whether as many of its tenant ran as may, so that it waits in a line outside of its queue. */
    isInLine: boolean;
    /** As the caller gave it. Listeners that keep it or pass it on use digests. */
    metadata: Readonly<Record<string, string>> | undefined;
    /** The trace of its request. */
    trace?: TraceContext | undefined;
  };
  /** Somebody follows a response that was accepted earlier. `trace` is that of the reader, `origin` that of the response. */
  'response.resumed': {
    responseId: string;
    trace: TraceContext | undefined;
    origin: TraceContext | undefined;
  };
  /** A response that waited in the line of its tenant may go into its queue. */
  /** An operator made another response of its request. */
  'response.repeated': { responseId: string; copyId: string };
  'response.let_in': { responseId: string };
  /** A request to create a response was refused with 429 or 503; `model` is empty when that was not known yet. */
  'response.refused': { tenant: string; model: string; code: string };
  /**
   * A response was found accepted although its caller was refused, because the store had not answered in time. `hasBegun`:
   * a worker had begun to run it.
   */
  'response.taken_back': { responseId: string; hasBegun: boolean };
  /** The first output went to the caller of a stream. */
  'response.first_output': { responseId: string; model: string; sinceRequestMs: number };
  /** Nobody of this process waits for a response any more, although it has not ended. */
  'caller.left': { responseId: string; requestId: string; reason: 'caller_left' | 'interrupted' };
  /** A claim got no answer and is tried again. */
  'claim.unanswered': { responseId: string; error: unknown };
  /** As many of its tenant run as may: the response goes to the line of its tenant. */
  'claim.crowded': { responseId: string };
  /** A worker process has taken a response for an attempt. `worker` is the id of that process. */
  'attempt.claimed': {
    responseId: string;
    tenant: string;
    model: string;
    mode: CallMode;
    tier: string;
    acceptedAt: number;
    /** By the clock of the store, in milliseconds. */
    claimedAt: number;
    attempt: number;
    worker: string;
    trace?: AttemptTrace | undefined;
  };
  /** No route takes calls for now, and the attempt waits for one in its process. */
  'attempt.blocked': { responseId: string; model: string; attempt: number; because: BlockedBecause };
  /** An attempt calls its first upstream. */
  'attempt.started': {
    responseId: string;
    model: string;
    attempt: number;
    mode: CallMode;
    /** By the store's clock. */
    sinceAcceptMs: number;
  };
  /** An attempt calls an upstream. After a refusal it may call another one. */
  'attempt.called': {
    responseId: string;
    model: string;
    attempt: number;
    provider: string;
    upstreamModel: string;
    /** The trace of the call. */
    trace?: TraceContext | undefined;
  };
  /** The upstream has given its first output. */
  'attempt.first_token': {
    responseId: string;
    model: string;
    attempt: number;
    provider?: string;
    upstreamModel?: string;
    sinceCallMs: number;
  };
  /** The answer of the upstream is complete. Whether it keeps the promises of the request is checked next. */
  'attempt.answered': {
    responseId: string;
    model: string;
    attempt: number;
    provider: string;
    upstreamModel: string;
    sinceCallMs: number;
    finishReason: string;
    /** As the upstream counted; undefined when it did not. */
    usage: UpstreamUsage | undefined;
  };
  /** A call of an attempt failed, whatever comes of it. `provider` is undefined when none was called. */
  'attempt.failed': {
    responseId: string;
    model: string;
    attempt: number;
    provider: string | undefined;
    upstreamModel?: string | undefined;
    /** Undefined when none was called. */
    sinceCallMs?: number | undefined;
    code: string;
    upstreamStatus: number | undefined;
    upstreamRequestId: string | undefined;
    /** The upstream's own words, without any of the request, and without keys and addresses. */
    reason?: string | undefined;
    error: unknown;
  };
  /** A failed attempt leads to another one. */
  'attempt.retried': { responseId: string; model: string; attempt: number; code: string; delayMs: number };
  /** Another attempt holds the lease. */
  'attempt.superseded': { responseId: string; model: string; attempt: number };
  /** The store was silent for so long that another attempt may hold the lease. */
  'attempt.given_up': { responseId: string; model: string; attempt: number };
  /** The process stops, and the response goes back to its queue. */
  'attempt.given_back': { responseId: string; model: string; attempt: number };
  /** An attempt rejected, by a silent store or a defect; the rescue looks after its response. */
  'attempt.dropped': { responseId: string; model: string; attempt: number };
  /**
   * No route takes calls for now, there is no room for the input, or this process does not know the model, and the response goes
   * back to its queue; the attempt does not count.
   */
  'attempt.postponed': {
    responseId: string;
    model: string;
    attempt: number;
    because: BlockedBecause | 'model';
    afterMs: number;
  };
  /**
   * The circuit breaker of an upstream, or of one of its models, changed. `openMs`: how long it takes no calls, 0 for other
   * states.
   */
  'upstream.breaker': {
    provider: string;
    /** The address of the server, where the provider has several; so in the next four facts. */
    server?: string;
    upstreamModel?: string;
    state: 'closed' | 'open' | 'half_open';
    openMs: number;
  };
  /** A model of an upstream takes no calls for a while, because there were too many. */
  'upstream.parked': { provider: string; server?: string; upstreamModel: string; parkedMs: number };
  /** An upstream refused a call because there were too many, with a 429 or an overload. */
  'upstream.refused': { provider: string; server?: string; upstreamModel: string };
  /** A model of an upstream gets no calls while too many wait there, or gets them again. */
  'upstream.saturated': {
    provider: string;
    server?: string;
    upstreamModel: string;
    isSaturated: boolean;
    waiting: number;
  };
  /** The metrics of an upstream cannot be read, so nothing is held back; undefined: they can be read again. */
  'upstream.metrics': { provider: string; server?: string; fault: string | undefined };
  /**
   * A response has the end that counts. `code` is that of its error. `because` says why it never ran, or why it does not run
   * again; `attempt` is 0 for one that never ran.
   */
  'response.ended': {
    responseId: string;
    tenant: string;
    model: string;
    attempt: number;
    status: string;
    code: string | undefined;
    because: string | undefined;
    inputTokens: number | undefined;
    outputTokens: number | undefined;
    /** From the first attempt to the end; undefined for one that never ran. */
    ranMs?: number | undefined;
  };
  /** An end was not written, because another one was first or the lease is lost. */
  'response.end_refused': {
    responseId: string;
    model: string;
    attempt: number;
    status: string;
    result: string;
  };
  /** A webhook was sent, and is delivered, is tried again, or never will be. */
  'webhook.tried': { outcome: 'delivered' | 'failed' | 'given_up' };
  /** Ends of responses were counted as usage, or lost: too many waited for it, or the database refused their values. */
  'usage.told': { outcome: 'counted' | 'lost'; count: number };
  /** The thread that keeps the index over responses ended by an error. The next question starts another one. */
  'index.ended': { error: unknown };
  /** An operator has paused a queue, or let it go on. */
  'queue.paused': { queue: string; isPaused: boolean };
}

/** Tokens of one call of a model. */
interface UpstreamUsage {
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
}

/** How the caller of a response gets it. */
type CallMode = 'whole' | 'stream' | 'background';

/** Why no route takes calls; `memory`: the process has no room for the input. */
type BlockedBecause = 'parked' | 'open' | 'busy' | 'saturated' | 'memory';

export type TelemetryEvent = keyof TelemetryEvents;

/** A fact together with the name of its event. */
export type TelemetryFact = {
  [Event in TelemetryEvent]: { event: Event; fact: TelemetryEvents[Event] };
}[TelemetryEvent];

type Listener<Event extends TelemetryEvent> = (fact: TelemetryEvents[Event]) => void;

/** Tells listeners what happens in this process. They are called at once, and their errors disturb nobody else. */
export class Telemetry {
  readonly #listeners = new Map<TelemetryEvent, Listener<never>[]>();
  readonly #listenersToAll: ((told: TelemetryFact) => void)[] = [];
  readonly #onListenerError: (error: unknown) => void;

  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError;
  }

  on<Event extends TelemetryEvent>(event: Event, listener: Listener<Event>): void {
    const known = this.#listeners.get(event) ?? [];
    this.#listeners.set(event, [...known, listener]);
  }

  /** Listens to everything, to tell it elsewhere. */
  onEvery(listener: (told: TelemetryFact) => void): void {
    this.#listenersToAll.push(listener);
  }

  emit<Event extends TelemetryEvent>(event: Event, fact: TelemetryEvents[Event]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      this.#tell(() => (listener as Listener<Event>)(fact)); // `on` files each listener under its own event
    }
    for (const listener of this.#listenersToAll) {
      this.#tell(() => listener({ event, fact } as TelemetryFact)); // the parameters pair them
    }
  }

  #tell(listen: () => void): void {
    try {
      listen();
    } catch (error) {
      this.#onListenerError(error);
    }
  }
}
