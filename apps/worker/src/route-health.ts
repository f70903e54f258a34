import type { ProviderError } from '@sluice/providers';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { LimitedTenants } from './limited-tenants.ts';
import type { ModelRoute, RouteBlock } from './model-routes.ts';
import { mostOwnLimits, type OwnLimits } from './own-limits.ts';
import { ParkedRoute } from './parked-route.ts';
import type { PressureCall, RoutePressure, Waiter } from './pressure/route-pressure.ts';
import type { SaturationGate } from './pressure/saturation-gate.ts';
import { everybody, RecentTenants } from './recent-tenants.ts';
import { type CallOwner, RouteBreaker, type RouteBreakerOptions } from './route-breaker.ts';

/** How soon a call is worth another look while a probe is under way, in milliseconds. Nobody knows how long that takes. */
const probeLookMs = 1_000;

/** How long a tenant that nobody knows yet may wait because the only one that calls is held back, in milliseconds. */
const strangerLookMs = 1_000;

/** So many calls of others that are answered show that the upstream takes calls. */
const fewestAnswers = 3;

/** Calls that were limited within this time were limited together, in milliseconds. */
const togetherMs = 1_000;

/** A response that waits for routes. */
export interface WaitingResponse extends Waiter, CallOwner {
  limits: OwnLimits;
}

/** A call of a route. What it says of the upstream is counted once. */
export interface RouteCall {
  /** The upstream has begun to answer. `sizeOf` tells the size of the prompt, in any unit. */
  answered(sizeOf: () => number): void;
  succeeded(): void;
  failed(error: ProviderError): CallFailure;
  /** Ended by us, for a reason that says nothing about the upstream. */
  abandoned(): void;
}

/** `own_limit`: the upstream limits this response and not others. The route takes calls, and none of this response more. */
export type CallFailure = 'counted' | 'own_limit';

export interface RouteHealthOptions extends RouteBreakerOptions {
  route: ModelRoute;
  /** Of the provider, for all of its models. */
  connection: CircuitBreaker;
  pressure: RoutePressure;
  /** Responses that may run here at once. */
  slots: number;
  gate: SaturationGate | undefined;
  /** When the upstream's queue is read again, in milliseconds from now. */
  nextReadingMs: () => number | undefined;
  longestRetryAfterMs: number;
  onRefused: () => void;
  onParked: (parkedMs: number) => void;
}

/**
 * What this process knows of one model of an upstream: whether it answers, until when it is parked, how many calls it gets,
 * and how many wait there. What a tenant's own calls have met counts for that tenant at once, and for others only with
 * more to say for it; see `RouteBreaker` and `LimitedTenants`.
 */
export class RouteHealth {
  readonly #options: RouteHealthOptions;
  readonly breaker: RouteBreaker;
  /** By what all refusals together say, for whoever looks at it. */
  readonly parked: ParkedRoute;
  /** By what those of each tenant say. */
  readonly #parks = new RecentTenants<ParkedRoute>();
  readonly #limited: LimitedTenants;
  /** Responses that wait here while it takes none of their calls. */
  readonly waiting = new Set<WaitingResponse>();
  /** When the latest calls that were answered began, the latest first. */
  #answered: number[] = [];
  /** The latest response that was limited, and the latest other one before it. */
  #limits: { responseId: string; at: number }[] = [];

  constructor(options: RouteHealthOptions) {
    this.#options = options;
    const { now } = options;
    this.breaker = new RouteBreaker(options);
    this.parked = this.#newPark();
    this.#limited = new LimitedTenants({ now });
  }

  get pressure(): RoutePressure {
    return this.#options.pressure;
  }

  get gate(): SaturationGate | undefined {
    return this.#options.gate;
  }

  /** Whether a call has to find out first that it is back. */
  get isDown(): boolean {
    return this.breaker.state !== 'closed' || this.#options.connection.state !== 'closed';
  }

  /** Why it takes no call of a response now, or of a tenant that nobody knows; undefined when it does. */
  blockOf(response?: WaitingResponse): RouteBlock | undefined {
    return this.#blockOf(response?.tenant, response);
  }

  /** Why nobody needs to come for it, and for how long; undefined when somebody may be served. */
  blockOfAll(): RouteBlock | undefined {
    const block = this.#blockOf(undefined);
    if (block) return block;
    // All that call it are held back. A tenant that comes now is not, and would find nobody that looks.
    const tenant = this.breaker.spokesman ?? this.#limited.spokesman;
    const own = tenant === undefined ? undefined : this.#blockOf(tenant);
    return own && { ...own, waitMs: Math.min(own.waitMs, strangerLookMs) };
  }

  #blockOf(tenant: string | undefined, response?: WaitingResponse): RouteBlock | undefined {
    const { connection, gate, pressure, nextReadingMs } = this.#options;
    const obeys = this.#limited.includes(tenant);
    const park = this.#parkOf(tenant);
    const parkedMs = Math.max(park?.waitMs ?? 0, this.#parkedForAllMs);
    if (!connection.admits) {
      const waitMs = Math.max(connection.opensInMs || probeLookMs, parkedMs);
      return { because: 'open', waitMs, downMs: connection.downMs };
    }
    const open = this.breaker.blockOf(tenant);
    if (open) {
      const waitMs = Math.max(open.waitMs || probeLookMs, parkedMs);
      return { because: 'open', waitMs, downMs: this.breaker.downMs };
    }
    if (parkedMs > 0) return { because: 'parked', waitMs: parkedMs };
    if (gate?.isClosed) return { because: 'saturated', waitMs: nextReadingMs() ?? probeLookMs };
    const yieldsMs =
      response && response.limits.count > 0 && this.#mayOthersCome() ? (park?.yieldsMs ?? 0) : 0;
    if (yieldsMs > 0) return { because: 'parked', waitMs: yieldsMs };
    const turn = pressure.blockFor(response, obeys);
    return turn && { because: 'busy', ...turn };
  }

  /** Begins a call. Undefined when it takes none, which may be news since the last look at it. */
  begin(response: WaitingResponse): RouteCall | undefined {
    const { connection, gate, pressure, now } = this.#options;
    const { tenant } = response;
    if (gate?.isClosed || pressure.blockFor(response, this.#limited.includes(tenant))) return undefined;
    if (!connection.admits || this.breaker.blockOf(tenant)) return undefined;
    const reach = connection.begin();
    const call = this.breaker.begin(response);
    if (!reach || !call) {
      reach?.abandoned();
      return undefined;
    }
    const calledAt = now();
    this.#limited.called(tenant);
    for (const park of this.#parksOf(tenant)) park.called();
    gate?.begin();
    const turn = pressure.begin();
    let isOver = false;
    const end = (last: () => void) => {
      if (isOver) return;
      isOver = true;
      last();
      gate?.ended();
      turn.ended();
    };
    return {
      answered: (sizeOf) => {
        reach.answered();
        call.answered();
        for (const park of this.#parksOf(tenant)) park.answered(calledAt);
        this.#noteAnswer(calledAt);
        for (const slow of turn.answered(tenant, sizeOf)) this.#limited.refused(slow);
      },
      succeeded: () =>
        end(() => {
          reach.succeeded();
          call.succeeded();
          turn.succeeded();
          this.#noteAnswer(calledAt);
        }),
      abandoned: () =>
        end(() => {
          reach.abandoned();
          call.abandoned();
        }),
      failed: (error) => {
        let failure: CallFailure = 'counted';
        end(() => {
          tellReach(reach, error);
          if (error.fault === 'refused' || error.fault === 'broken') call.failed();
          // An upstream that answered is not down, whatever it thinks of the request.
          else if (error.fault === 'limited' || error.upstreamStatus !== undefined) call.succeeded();
          else call.abandoned();
          if (isOverload(error)) failure = this.#refuse(response, turn, { calledAt, error });
        });
        return failure;
      },
    };
  }

  /** There are too many calls, or the upstream refuses this one alone. */
  #refuse(
    { tenant, responseId, limits }: WaitingResponse,
    turn: PressureCall,
    { calledAt, error }: { calledAt: number; error: ProviderError },
  ): CallFailure {
    const { now, onRefused } = this.#options;
    onRefused();
    const at = now();
    const isLimited = error.fault === 'limited';
    if (isLimited && this.#isOwnLimit({ responseId, limits })) return 'own_limit';
    this.#limited.refused(tenant);
    if (isLimited) {
      limits.at = at;
      this.#limits = [
        { responseId, at },
        ...this.#limits.filter((each) => each.responseId !== responseId),
      ].slice(0, 2);
      this.#park(tenant, calledAt, error.retryAfterMs);
    }
    turn.refused(isLimited ? at + (this.#parkOf(tenant)?.waitMs ?? 0) : undefined);
    return 'counted';
  }

  /**
   * Whether a response that is limited is so for its own sake: others were answered since it was limited before, and none of
   * them was limited. With others that are, its own limits have to be many.
   */
  #isOwnLimit({ responseId, limits }: Pick<WaitingResponse, 'responseId' | 'limits'>): boolean {
    const answers = this.#answered.filter((calledAt) => calledAt > limits.at).length;
    if (limits.count > 0 && answers === 0) return false;
    limits.count += 1;
    if (limits.count > mostOwnLimits) return true;
    return limits.count > 1 && answers >= fewestAnswers && this.#isAlone(responseId, limits.at);
  }

  #noteAnswer(calledAt: number): void {
    if (this.#answered.includes(calledAt)) return;
    this.#answered = [calledAt, ...this.#answered]
      .toSorted((one, other) => other - one)
      .slice(0, fewestAnswers);
  }

  /** Whether no other response was limited since then, or together with this one. */
  #isAlone(responseId: string, since: number): boolean {
    return this.#limits.every((each) => each.responseId === responseId || each.at < since - togetherMs);
  }

  #park(tenant: string, calledAt: number, retryAfterMs: number | undefined): void {
    const wasParked = this.parked.waitMs > 0;
    this.#parks.set(tenant, this.#parkOf(tenant) ?? this.#newPark());
    for (const park of this.#parksOf(tenant)) park.limited(calledAt, retryAfterMs);
    if (!wasParked) this.#options.onParked(this.parked.waitMs);
  }

  /** Whether a response may come first that was not limited: it waits here, or could be taken from its queue. */
  #mayOthersCome(): boolean {
    const { inFlight, waiting } = this.pressure.status;
    const hasFreeSlot = inFlight + waiting + this.waiting.size + 1 < this.#options.slots;
    return hasFreeSlot || [...this.waiting].some(({ limits }) => limits.count === 0);
  }

  /** It is parked for all while it is for so many tenants that those are everybody. */
  get #parkedForAllMs(): number {
    if (this.parked.waitMs === 0) return 0;
    const waits = [...this.#parks.values()].map(({ waitMs }) => waitMs);
    return waits.toSorted((one, other) => other - one)[everybody - 1] ?? 0;
  }

  #parkOf(tenant: string | undefined): ParkedRoute | undefined {
    return tenant === undefined ? undefined : this.#parks.get(tenant);
  }

  #parksOf(tenant: string): ParkedRoute[] {
    const own = this.#parks.get(tenant);
    return own ? [this.parked, own] : [this.parked];
  }

  #newPark(): ParkedRoute {
    const { now, longestRetryAfterMs: longestMs } = this.#options;
    return new ParkedRoute({ longestMs, now });
  }
}

/** Tells what a failed call says of the way to the upstream. */
function tellReach(
  reach: Pick<RouteCall, 'succeeded' | 'abandoned'> & { failed(): void },
  error: ProviderError,
): void {
  if (error.fault === 'unreachable') reach.failed();
  else if (error.fault !== undefined || error.upstreamStatus !== undefined) reach.succeeded();
  else reach.abandoned();
}

/** Statuses of a server that has too much to do, with or without `Retry-After`. */
const busyStatuses: ReadonlySet<number | undefined> = new Set([503, 529]);

/** Whether a call was refused because there are too many of them. */
function isOverload({ fault, upstreamStatus, code }: ProviderError): boolean {
  if (fault === 'limited') return true;
  return fault === 'refused' && (busyStatuses.has(upstreamStatus) || code === 'server_is_overloaded');
}
