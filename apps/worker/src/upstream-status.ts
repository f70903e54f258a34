import type { BreakerState } from './circuit-breaker.ts';
import type { RouteHealth } from './route-health.ts';

/** A provider, and the name of the server, which is its address, if it has several. */
export interface AboutUpstream {
  provider: string;
  server?: string;
}

/** An upstream as an operator sees it. Times are milliseconds from now. */
export interface UpstreamStatus extends AboutUpstream {
  /** The worst state of its own breaker and those of its models. */
  breaker: BreakerState;
  opensInMs: number;
  /** Why its metrics cannot be read; absent when they can, or need not be. */
  metricsFault?: string;
  /** The environment variable with its key that this process lacks, so that its calls fail. */
  missingVariable?: string;
  routes: RouteStatus[];
}

export interface RouteStatus {
  model: string;
  breaker: BreakerState;
  parkedMs: number;
  /** Calls in flight, and the most that may be. */
  inFlight: number;
  limit: number;
  /** Calls that begin in a second at most; null when nothing bounds them. */
  callsPerSecond: number | null;
  /** Responses that wait here for their turn. */
  waiting: number;
  /** The upstream's own queue, if it is read: null when that failed. */
  saturation?: { waiting: number | null; most: number; isHolding: boolean };
}

/** Describes one model of an upstream for an operator. */
export function statusOf(model: string, { breaker, parked, pressure, gate }: RouteHealth): RouteStatus {
  const { callsPerSecond, ...status } = pressure.status;
  const isPaced = Number.isFinite(callsPerSecond);
  return {
    model,
    breaker: breaker.state,
    parkedMs: Math.ceil(parked.waitMs),
    ...status,
    callsPerSecond: isPaced ? Math.round(callsPerSecond * 100) / 100 : null,
    ...(gate && {
      saturation: { waiting: gate.value ?? null, most: gate.most, isHolding: gate.isClosed },
    }),
  };
}

/** The faults of an upstream besides its answers, without those that are undefined. */
export function faultsOf(
  metricsFault: string | undefined,
  missingVariable: string | undefined,
): Pick<UpstreamStatus, 'metricsFault' | 'missingVariable'> {
  return {
    ...(metricsFault !== undefined && { metricsFault }),
    ...(missingVariable !== undefined && { missingVariable }),
  };
}

const states = ['closed', 'half_open', 'open'] as const;

/** The worst of some breakers, and when the first of those that are open lets a call through, in milliseconds. */
export function worstOf(breakers: readonly { state: BreakerState; opensInMs: number }[]) {
  const breaker = states.findLast((each) => breakers.some(({ state }) => state === each)) ?? 'closed';
  const waits = breakers.filter(({ state }) => state === breaker).map(({ opensInMs }) => opensInMs);
  return { breaker, opensInMs: Math.ceil(Math.min(...waits)) };
}
