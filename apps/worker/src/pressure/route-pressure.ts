import { CallPace } from './call-pace.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { LatencyGradient } from './latency-gradient.ts';
import { RecentCalls } from './recent-calls.ts';

/** How this process reacts to an upstream that has too much to do; see `pressure` of a provider in the settings. */
export interface PressureSettings {
  adaptive: boolean;
  floor: number;
  latencyTolerance?: number;
}

export interface RoutePressureOptions {
  /** Whether refusals of the upstream have any effect. */
  isAdaptive: boolean;
  /** Calls at a time: the lowest limit, and the slots of this process. */
  floor: number;
  most: number;
  /** Multiple of the usual time to first token from which on the limit is lowered; undefined: it never is for that. */
  latencyTolerance: number | undefined;
  /** For durations, in milliseconds. */
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
}

/** A response that waits for its turn. Those with a lower order are served first. */
export interface Waiter {
  readonly order: number;
  /** The lines that it stands in. */
  readonly lines: Set<RoutePressure>;
  wake(): void;
}

/** Why a call has to wait, and about how long, in milliseconds. A response that finds the line full should wait elsewhere. */
export interface TurnBlock {
  waitMs: number;
  isLineFull: boolean;
}

/** A call, as it counts for its route. Any of the last three ends it; later calls have no effect. */
export interface PressureCall {
  /** Its first piece came. `sizeOf` tells the size of its prompt. Returns the tenants whose calls have become slow, if any. */
  answered(tenant: string, sizeOf: () => number): readonly string[];
  succeeded(): void;
  /** The upstream had too much to do. `parkedUntil`: when it takes calls again, if it told us to go away. */
  refused(parkedUntil: number | undefined): void;
  ended(): void;
}

/** The line has room for as many as are served in this time, in milliseconds, and always for as many as run. */
const lineMs = 3_000;

/** Nobody knows when a call ends and makes room. Look again after this long, in milliseconds. */
const roomLookMs = 2_000;

/** The longest time for which a response is sent away while few others are, in milliseconds. */
const longestAwayMs = 5_000;

/**
 * How many calls one model of an upstream gets from this process: a limit on those at a time, a pace for their begin, and a
 * line of those that wait, in the order in which they came.
 *
 * A 429 sets the pace. It lowers the limit only when the pace does not explain it, because an upstream that limits
 * requests in a time must not be taken for one that limits them at a time: with long answers that would cost throughput.
 */
export class RoutePressure {
  readonly #options: RoutePressureOptions;
  readonly #limit: ConcurrencyLimit;
  readonly #pace: CallPace;
  readonly #gradient: LatencyGradient | undefined;
  /** Sorted by order. */
  readonly #line: Waiter[] = [];
  readonly #begun = new RecentCalls();
  #timer: NodeJS.Timeout | undefined;
  #most: number;

  constructor(options: RoutePressureOptions) {
    this.#options = options;
    this.#most = options.most;
    const { latencyTolerance, isAdaptive } = options;
    this.#limit = new ConcurrencyLimit(options);
    this.#pace = new CallPace(options);
    if (isAdaptive && latencyTolerance !== undefined) this.#gradient = new LatencyGradient(latencyTolerance);
  }

  /** The slots of this process. They change with the settings. */
  get most(): number {
    return this.#most;
  }

  set most(most: number) {
    if (most === this.#most) return;
    this.#most = most;
    this.#limit.most = most;
    this.#serve();
  }

  /** Calls in flight, the most that may be, how many begin in a second at most, and how many responses wait here. */
  get status() {
    return {
      inFlight: this.#limit.inFlight,
      limit: this.#limit.limit,
      callsPerSecond: this.#pace.perSecond,
      waiting: this.#line.length,
    };
  }

  /**
   * Why a call may not begin now, for a waiter or for a newcomer; undefined when it may. A call that need not obey the limit
   * and the pace, because calls of others have set them, waits for a free slot only.
   */
  blockFor(waiter: Waiter | undefined, obeys = true): TurnBlock | undefined {
    if (!obeys && this.#limit.inFlight < this.#most) return undefined;
    const ahead = waiter ? this.#ahead(waiter) : this.#line.length;
    if (this.#turns > ahead) return undefined;
    const isLineFull = !waiter?.lines.has(this) && this.#line.length >= this.#mostWaiting;
    const untilRoomMs = this.#limit.room > ahead ? 0 : roomLookMs;
    const { perSecond } = this.#pace;
    const untilTurnMs = this.#pace.waitMs + (ahead * 1000) / perSecond;
    const waitMs = Math.max(1, untilRoomMs, untilTurnMs);
    // A response that comes back after half of this time finds the line half served, so the line never runs dry.
    return { waitMs: isLineFull ? Math.min(waitMs / 2, longestAwayMs) : waitMs, isLineFull };
  }

  /** How many calls begin in a second: as many as the pace allows, or as have begun in the last one. */
  get servedPerSecond(): number {
    const { perSecond } = this.#pace;
    return Number.isFinite(perSecond) ? perSecond : this.#begun.sum(this.#options.now());
  }

  /** Begins a call; `obeys` as in `blockFor`. */
  begin(obeys = true): PressureCall {
    const { now, isAdaptive } = this.#options;
    const calledAt = now();
    this.#limit.begin();
    this.#pace.begin(obeys);
    this.#begun.add(calledAt, 1);
    let isOver = false;
    const end = (last?: () => void) => {
      if (isOver) return;
      isOver = true;
      last?.();
      this.#limit.ended();
      this.#serve();
    };
    return {
      answered: (tenant, sizeOf) => {
        if (!this.#gradient || isOver || !this.#limit.isInUse) return [];
        const { share, slow } = this.#gradient.add(tenant, sizeOf(), now() - calledAt) ?? {
          share: 1,
          slow: [],
        };
        if (share < 1) this.#limit.lower(share);
        return slow;
      },
      succeeded: () => end(() => this.#limit.succeeded()),
      ended: () => end(),
      refused: (parkedUntil) => {
        if (isOver) return;
        end();
        if (isAdaptive) this.#lower(calledAt, parkedUntil);
      },
    };
  }

  /** Waits in line, until it leaves. It is woken when its turn has come, and again at each turn that it does not take. */
  join(waiter: Waiter): void {
    if (!waiter.lines.has(this)) {
      waiter.lines.add(this);
      this.#line.splice(this.#ahead(waiter), 0, waiter);
    }
    this.#serve();
  }

  leave(waiter: Waiter): void {
    if (!waiter.lines.delete(this)) return;
    this.#line.splice(this.#line.indexOf(waiter), 1);
    this.#serve();
  }

  #lower(calledAt: number, parkedUntil: number | undefined): void {
    const isOurs = this.#limit.isLowered && this.#limit.isInUse;
    const isExplained = parkedUntil !== undefined && this.#pace.refused(calledAt, parkedUntil);
    if (!isExplained || isOurs) this.#limit.overloaded(calledAt, this.#options.now());
  }

  get #turns(): number {
    return Math.min(this.#limit.room, this.#pace.turns);
  }

  get #mostWaiting(): number {
    const { perSecond } = this.#pace;
    const servedSoon = Number.isFinite(perSecond) ? Math.ceil((perSecond * lineMs) / 1000) : 0;
    return Math.max(1, this.#limit.inFlight, servedSoon);
  }

  /** How many in the line go before a waiter. */
  #ahead({ order }: Waiter): number {
    const at = this.#line.findIndex((other) => other.order >= order);
    return at === -1 ? this.#line.length : at;
  }

  /** Wakes those whose turn has come, and comes back for the next. A call that ends comes back by itself. */
  #serve(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#line.length === 0) return;
    const turns = this.#turns;
    for (const waiter of this.#line.slice(0, turns)) waiter.wake();
    if (turns >= this.#line.length || turns >= this.#limit.room) return;
    const { waitMs, perSecond } = this.#pace;
    this.#timer = setTimeout(() => this.#serve(), Math.max(waitMs, turns === 0 ? 1 : 1000 / perSecond));
  }
}
