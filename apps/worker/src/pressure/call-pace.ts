import { RecentCalls } from './recent-calls.ts';

export interface CallPaceOptions {
  /** For durations, in milliseconds. */
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
}

/** Where a new curve begins, as a share of the rate that it aims at. */
const startShare = 0.88;

/** A curve aims at a share of the rate at which the upstream refused, between these two. */
const aimShares = { least: 0.96, most: 0.98 };

/** A search is far from where it began at this multiple, and then this share of its rate is aimed at. */
const far = { times: 4, share: 0.6 };

/** How long a curve takes to its aim and, later, from there to as much above it as it began below, in milliseconds. */
const bendMs = 5_000;

/** When it looks for more, in milliseconds: at first, and at most. Later by a factor for each that found the same limit. */
const staysMs = { first: 5_000, longest: 60_000, growth: 4 };

/** Each of these takes as long as this many calls at least. */
const fewestCalls = 8;

/** Two limits are the same when they differ by this share at most. */
const sameShare = 0.2;

/** How long a rate takes to double while the limit is not known, in milliseconds, or in calls where those take longer. */
const doubling = { ms: 500, calls: 2 };

/** From this multiple of its aim on the rate doubles as well: the limit that was aimed at is gone. */
const leapShare = 1.5;

/** A rate is taken over this long at least, in milliseconds, so that a burst does not pass for a rate. */
const shortestMs = 1_000;

/** Calls that a late timer has delayed follow at once, up to this much of the lost time, in milliseconds. */
const catchUpMs = 25;

/** Calls in a second: one a minute is always tried, and above the other there is no pace at all. */
const rates = { lowest: 1 / 60, highest: 10_000 };

/** Where a search begins that knows nothing, and one after all calls were refused, in calls in a second. */
const searchFrom = { first: 10, lowest: 1 };

/** `search`: the limit is not known, and the rate doubles again and again. `near`: it is, and the rate is near it. */
interface Curve {
  kind: 'search' | 'near';
  /** Calls in a second. */
  aim: number;
  /** Calls in a second that the upstream is known to have taken before. */
  known: number;
  /** When it began, and for how long it goes no higher than its aim. */
  from: number;
  staysMs: number;
}

/**
 * How many calls in a second an upstream takes, as far as its refusals tell. There is no pace before the first of them.
 *
 * After a refusal the calls are spaced evenly, so that those that waited do not all come at once and are refused again.
 * The rate doubles every half second until it is refused once more (slow start). From then on it follows a cubic curve:
 * it starts a little below what the upstream took, rises to just below that, stays there, and then looks for more, slowly
 * at first. The curve and its reason are those of CUBIC (Ha, Rhee, Xu 2008; RFC 9438), applied to a rate of requests as
 * the AWS SDKs do in their adaptive retry mode. Unlike theirs, it stays the longer the more often it has found the same
 * limit: each refusal may cost the time that `Retry-After` asks for.
 *
 * Calls that the upstream took are counted from one refusal to the next. Its limit was used up at both, so for a token bucket
 * or a window the count over that time is its rate.
 */
export class CallPace {
  readonly #options: CallPaceOptions;
  readonly #recent = new RecentCalls();
  /** Undefined while there is no pace. */
  #curve: Curve | undefined;
  /** Refusals since the curve began, as yet without a curve of their own. */
  #refused: { at: number; until: number; perSecond: number } | undefined;
  /** When the refusals before those began, and for how long the route was parked since then. */
  #before = { at: Number.NEGATIVE_INFINITY, parkedMs: 0 };
  /** Calls that were taken since then. */
  #taken = 0;
  /** The next call may begin then. */
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(options: CallPaceOptions) {
    this.#options = options;
  }

  /** Calls in a second; infinite when there is no pace. */
  get perSecond(): number {
    this.#settle();
    return this.#rateAt(this.#options.now());
  }

  /** How many calls may begin now. */
  get turns(): number {
    const { perSecond } = this;
    if (perSecond === Number.POSITIVE_INFINITY) return perSecond;
    const lateMs = this.#options.now() - this.#nextAt;
    return lateMs < 0 ? 0 : Math.floor((Math.min(lateMs, catchUpMs) * perSecond) / 1000) + 1;
  }

  /** How long until the next call may begin, in milliseconds; 0 when it may now. */
  get waitMs(): number {
    if (this.perSecond === Number.POSITIVE_INFINITY) return 0;
    return Math.max(0, this.#nextAt - this.#options.now());
  }

  /** A call begins. One that does not keep the pace, because calls of others have set it, takes no turn of those that do. */
  begin(obeys = true): void {
    const { perSecond } = this;
    const now = this.#options.now();
    this.#recent.add(now, 1);
    this.#taken += 1;
    if (!obeys || perSecond === Number.POSITIVE_INFINITY) return;
    this.#nextAt = Math.max(this.#nextAt, now - catchUpMs) + 1000 / perSecond;
  }

  /**
   * A call that began at `calledAt` was refused, and its route is parked until `until`. Returns whether the pace explains the
   * refusal. It does not if the upstream took as many calls before, or if it has taken none since its last refusal.
   */
  refused(calledAt: number, until: number): boolean {
    const now = this.#options.now();
    const curve = this.#curve;
    // It began under an older curve and was counted as taken there.
    if (curve && calledAt < curve.from) return true;
    const perSecond = this.#rateAt(now);
    this.#recent.add(calledAt, -1);
    this.#taken -= 1;
    this.#refused = {
      at: this.#refused?.at ?? now,
      until,
      perSecond: this.#refused?.perSecond ?? perSecond,
    };
    return !curve || (this.#taken > 0 && perSecond >= curve.aim * ((1 + startShare) / 2));
  }

  /** Begins a new curve once the refusals are over, because only then is it known how many calls were refused. */
  #settle(): void {
    const refused = this.#refused;
    if (!refused || this.#options.now() < refused.until) return;
    const { at, until } = refused;
    this.#refused = undefined;
    this.#curve = this.#curveAfter(refused, this.#curve);
    if (at - this.#before.at >= shortestMs) {
      this.#before = { at, parkedMs: until - at };
      this.#taken = 0;
    } else {
      this.#before.parkedMs += until - at;
    }
    this.#recent.clear();
    // Other processes were refused at the same time.
    this.#nextAt = until + (this.#options.random() * 1000) / this.#rateAt(until);
  }

  #curveAfter(refused: { at: number; until: number; perSecond: number }, last: Curve | undefined): Curve {
    const { at, until: from } = refused;
    if (!last) {
      const known = this.#recent.sum(at) * (1000 / shortestMs);
      return { kind: 'search', aim: Math.max(known, searchFrom.first), known, from, staysMs: 0 };
    }
    // Too soon to tell a rate from a burst.
    if (at - this.#before.at < shortestMs) return { ...last, from };
    if (this.#taken <= 0) {
      const aim = Math.max(last.aim / 2, searchFrom.lowest);
      return { kind: 'search', aim, known: aim, from, staysMs: 0 };
    }
    const aim = Math.max(this.#takenRate(refused, last), rates.lowest);
    const isSame = last.kind === 'near' && Math.abs(aim / last.aim - 1) <= sameShare;
    const longer = isSame ? Math.min(last.staysMs * staysMs.growth, staysMs.longest) : staysMs.first;
    return { kind: 'near', aim, known: aim, from, staysMs: Math.max(longer, bendMsOf(aim)) };
  }

  /** Calls in a second that the upstream took until it refused. */
  #takenRate({ at, perSecond }: { at: number; perSecond: number }, last: Curve): number {
    const sinceMs = at - this.#before.at;
    // An upstream that saves up unused calls took these over the whole time. Any other took them in the time in which it
    // was called.
    const inAll = this.#taken / sinceMs;
    const whileCalled = this.#taken / Math.max(sinceMs - this.#before.parkedMs, shortestMs);
    const mean = ((inAll + whileCalled) / 2) * 1000;
    const lately = (this.#recent.sum(at) + 1) * (1000 / shortestMs);
    const hasSecond = at - last.from >= shortestMs;
    const most = Math.min(perSecond, hasSecond ? lately : Math.max(lately, mean));
    const rate = Math.min(Math.max(mean, most * aimShares.least), most * aimShares.most);
    // The rate is far above the first one, so the upstream saves up little and refused soon after its limit.
    const isFar = last.kind === 'search' && perSecond >= last.known * far.times;
    return isFar ? Math.max(rate, perSecond * far.share) : rate;
  }

  #rateAt(now: number): number {
    if (!this.#curve) return Number.POSITIVE_INFINITY;
    const rate = rateOf(this.#curve, Math.max(0, now - this.#curve.from));
    if (rate < rates.highest) return rate;
    this.#curve = undefined;
    return Number.POSITIVE_INFINITY;
  }
}

function rateOf({ kind, aim, staysMs: stays }: Curve, sinceMs: number): number {
  const doublingMs = Math.max(doubling.ms, (doubling.calls / aim) * 1000);
  if (kind === 'search') return aim * 2 ** (sinceMs / doublingMs);
  const bend = bendMsOf(aim);
  const leapsAfterMs = stays + bend * Math.cbrt((leapShare - 1) / (1 - startShare));
  if (sinceMs >= leapsAfterMs) return aim * leapShare * 2 ** ((sinceMs - leapsAfterMs) / doublingMs);
  const bends = Math.min(0, sinceMs / bend - 1) + Math.max(0, (sinceMs - stays) / bend);
  return aim * (1 + (1 - startShare) * bends ** 3);
}

function bendMsOf(aim: number): number {
  return Math.max(bendMs, (fewestCalls / aim) * 1000);
}
