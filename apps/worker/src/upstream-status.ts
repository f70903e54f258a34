import type { BreakerState } from './circuit-breaker.ts';
import type { ParkedRoute } from './parked-route.ts';
import type { RoutePressure } from './pressure/route-pressure.ts';
import type { SaturationGate } from './pressure/saturation-gate.ts';

/** What an operator sees of an upstream. Times are milliseconds from now. */
export interface UpstreamStatus {
  provider: string;
  breaker: BreakerState;
  opensInMs: number;
  /** Why its metrics cannot be read; absent when they can, or need not be. */
  metricsFault?: string;
  routes: RouteStatus[];
}

export interface RouteStatus {
  model: string;
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

/** What is known of one model of an upstream. */
export interface RouteState {
  parked: ParkedRoute;
  pressure: RoutePressure;
  gate: SaturationGate | undefined;
}

/** What an operator sees of one model of an upstream. */
export function statusOf(model: string, { parked, pressure, gate }: RouteState): RouteStatus {
  const { callsPerSecond, ...status } = pressure.status;
  const isPaced = Number.isFinite(callsPerSecond);
  return {
    model,
    parkedMs: Math.ceil(parked.waitMs),
    ...status,
    callsPerSecond: isPaced ? Math.round(callsPerSecond * 100) / 100 : null,
    ...(gate && {
      saturation: { waiting: gate.value ?? null, most: gate.most, isHolding: gate.isClosed },
    }),
  };
}
