import type { ProviderError } from '@sluice/providers';
import type { BreakerOptions, CircuitBreaker } from './circuit-breaker.ts';
import { LimitedTenants } from './limited-tenants.ts';
import type { ModelRoute, RouteBlock } from './model-routes.ts';
import { mostOwnLimits, type OwnLimits } from './own-limits.ts';
import { isOverload } from './overload.ts';
import { ParkedRoute } from './parked-route.ts';
import type { PressureCall, RoutePressure, Waiter } from './pressure/route-pressure.ts';
import type { SaturationGate } from './pressure/saturation-gate.ts';
import { TenantsAway } from './pressure/sent-away.ts';
import { everybody, RecentTenants } from './recent-tenants.ts';
import { type CallOwner, RouteBreaker } from './route-breaker.ts';

/** When to look again while a probe is in flight, in milliseconds. Nobody knows how long it takes. */
const probeLookMs = 1_000;

/** The longest time, in milliseconds, that a new tenant waits because the only tenant with calls is held back. */
const strangerLookMs = 1_000;

/** Answers to this many calls of others show that the upstream takes calls. */
const fewestAnswers = 3;

/** Calls that were limited within this time were limited together, in milliseconds. */
const togetherMs = 1_000;

/** A response that waits for routes. */
export interface WaitingResponse extends Waiter, CallOwner {
  limits: OwnLimits;
}

/** A call of a route. Its end counts once. */
export interface RouteCall {
  /** The upstream has begun to answer. `sizeOf` tells the size of the prompt, in any unit. */
  answered(sizeOf: () => number): void;
  succeeded(): void;
  failed(error: ProviderError): CallFailure;
  /** Ended by us, for a reason that says nothing about the upstream. */
  abandoned(): void;
}

/** `own_limit`: the upstream limits this response and not others. The route goes on taking calls, but none of this response. */
export type CallFailure = 'counted' | 'own_limit';

export interface RouteHealthOptions extends BreakerOptions {
  route: ModelRoute;
  /** The breaker of the provider, for all of its models. */
  connection: CircuitBreaker;
  pressure: RoutePressure;
  gate: SaturationGate | undefined;
  /** When the upstream's queue is read again, in milliseconds from now. */
  nextReadingMs: () => number | undefined;
  longestRetryAfterMs: number;
  onRefused: () => void;
  onParked: (parkedMs: number) => void;
}

/**
 * The health of one model of an upstream, as this process knows it: whether it answers, until when it is parked, how many
 * calls it gets, and how many wait there. The failures and limits of a tenant's calls count for that tenant at once. They
 * count for others only with more evidence; see `RouteBreaker` and `LimitedTenants`.
 */
export class RouteHealth {
  readonly #options: RouteHealthOptions;
  readonly breaker: RouteBreaker;
  /** The park by the refusals of all tenants, for reports. */
  readonly parked: ParkedRoute;
  /** The park by the refusals of each tenant. */
  readonly #parks = new RecentTenants<ParkedRoute>();
  readonly #limited: LimitedTenants;
  /** The responses that wait elsewhere. */
  readonly away: TenantsAway;
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
    this.away = new TenantsAway({ now });
  }

  get pressure(): RoutePressure {
    return this.#options.pressure;
  }

  get gate(): SaturationGate | undefined {
    return this.#options.gate;
  }

  /** Whether it is down, so that a probe has to find out whether it is back. */
  get isDown(): boolean {
    return this.breaker.state !== 'closed' || this.#options.connection.state !== 'closed';
  }

  /** Whether a response waits for its turn here because of refusals, while tenants called lately that need not. */
  servesOthers(response: WaitingResponse): boolean {
    const obeys = this.#limited.includes(response.tenant);
    return obeys && this.#limited.isSomebodyFree && this.blockOf(response)?.because === 'busy';
  }

  /** Why it takes no call of a response now, or of a new tenant without one; undefined when it does. */
  blockOf(response?: WaitingResponse): RouteBlock | undefined {
    return this.#blockOf(response?.tenant, response);
  }

  /** Why it takes no call of any tenant, and for how long; undefined when it may take one. */
  blockOfAll(): RouteBlock | undefined {
    const block = this.#blockOf(undefined);
    if (block) return block;
    // All tenants with recent calls are held back. A new tenant would not be, but a held queue would keep it waiting.
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
    const obeys = this.#limited.includes(tenant);
    if (gate?.isClosed || pressure.blockFor(response, obeys)) return undefined;
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
    const turn = pressure.begin(obeys);
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
   * Whether the upstream limits this response alone: it answered others since it limited this one before, and limited none
   * of them. If it limits others, too, many limits of this one are needed.
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

  /** Whether no other response was limited since `since`, or together with this one. */
  #isAlone(responseId: string, since: number): boolean {
    return this.#limits.every((each) => each.responseId === responseId || each.at < since - togetherMs);
  }

  #park(tenant: string, calledAt: number, retryAfterMs: number | undefined): void {
    const wasParked = this.parked.waitMs > 0;
    this.#parks.set(tenant, this.#parkOf(tenant) ?? this.#newPark());
    for (const park of this.#parksOf(tenant)) park.limited(calledAt, retryAfterMs);
    if (!wasParked) this.#options.onParked(this.parked.waitMs);
  }

  /** Whether a response that was not limited may call first: one waits here, or a slot is free to take one from its queue. */
  #mayOthersCome(): boolean {
    const { inFlight, waiting } = this.pressure.status;
    const hasFreeSlot = inFlight + waiting + this.waiting.size + 1 < this.pressure.most;
    return hasFreeSlot || [...this.waiting].some(({ limits }) => limits.count === 0);
  }

  /** How long it is parked for all tenants: as long as it is for `everybody`. */
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

/** Counts a failed call for the connection to the upstream. */
function tellReach(
  reach: Pick<RouteCall, 'succeeded' | 'abandoned'> & { failed(): void },
  error: ProviderError,
): void {
  if (error.fault === 'unreachable') reach.failed();
  else if (error.fault !== undefined || error.upstreamStatus !== undefined) reach.succeeded();
  else reach.abandoned();
}
