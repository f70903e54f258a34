import type { Telemetry } from '@sluice/runtime';
import { about, type Attempt } from './attempt.ts';
import { mayWait } from './conclude-attempt.ts';
import { chooseRoute, type ModelRoute, type RouteBlock, type RouteChoice, untried } from './model-routes.ts';
import { withJitter } from './retry-delay.ts';
import type { WaitingResponse } from './route-health.ts';
import { orderServers } from './servers/choose-server.ts';
import type { ServerLoads } from './servers/server-loads.ts';
import type { UpstreamHealth } from './upstream-health.ts';

/** A response waits for a route in this process for this long at most, in milliseconds. It keeps its slot meanwhile. */
const waitHereMs = 3_000;

/** A response waits for this long at most in the line of a busy route, in milliseconds. */
const waitInLineMs = 30_000;

/**
 * Waits for longer than this, in milliseconds, take some slots at most. The others stay free for routes that take calls. A line bounds itself,
 * and is held to the same where it has the responses of some tenants while those of others run.
 */
const briefWaitMs = 100;

export interface FindRouteDependencies {
  health: UpstreamHealth;
  serverLoads: Pick<ServerLoads, 'of' | 'begin'>;
  telemetry: Telemetry;
  /** For durations, in milliseconds. */
  now: () => number;
  /** From 0 to 1. */
  random: () => number;
}

/** A wait for the first of these routes that takes calls again. */
export interface RouteWait {
  kind: 'wait';
  block: RouteBlock;
  routes: readonly ModelRoute[];
}

/**
 * Chooses the route of an attempt's next call, or finds that it has to wait for one.
 *
 * After a refusal, only routes count that have not failed for the response. A route that limited it has not failed. The
 * attempt ends with the refusal, `none`, when another attempt may follow or when the routes that are left are down. The
 * last attempt waits for a route that is only parked. The servers of one provider come in the order of `orderServers`.
 */
export function findRoute(
  { health, serverLoads, now, random }: FindRouteDependencies,
  attempt: Attempt,
  waiter: WaitingResponse,
): RouteChoice | RouteWait {
  const { tried, mayRetry, calls, routes: configured } = attempt;
  const { refusal, wait } = calls;
  const routes = refusal ? untried(configured, tried) : configured;
  const blockOf = (route: ModelRoute) => health.blockOf(route, waiter);
  const ordered = orderServers(routes, {
    affinity: attempt.affinity,
    isOpen: (route) => !blockOf(route),
    loadOf: (server) => serverLoads.of(server),
    random,
  });
  const choice = chooseRoute(ordered, tried, blockOf);
  if (choice.kind !== 'blocked') return choice;
  const { block } = choice;
  const hasRefused = refusal?.fault === 'refused' || refusal?.fault === 'unreachable';
  if (hasRefused && (mayRetry || block.because === 'open')) return { kind: 'none' };
  const waitedMs = wait ? now() - wait.since : 0;
  if (!mayWaitHere(block, waitedMs) || !mayWait(block, attempt)) return choice;
  const mayHoldUp =
    block.because === 'busy'
      ? waiter.lines.size === 0 && routes.some((route) => health.at(route).servesOthers(waiter))
      : block.waitMs > briefWaitMs;
  if (mayHoldUp && !routes.some((route) => health.mayWaitFor(route))) return choice;
  return { kind: 'wait', block, routes };
}

/** Waits until one of the routes may take the call, or until the attempt is aborted. The response keeps its place in their lines. */
export async function waitForRoute(
  { health, telemetry, now, random }: FindRouteDependencies,
  { calls, record, signal }: Attempt,
  waiter: WaitingResponse,
  { block, routes }: RouteWait,
): Promise<void> {
  const { because, waitMs } = block;
  if (calls.wait?.because !== because) telemetry.emit('attempt.blocked', { ...about(record), because });
  calls.wait = { since: calls.wait?.since ?? now(), because };
  await health.waitForTurn(waiter, routes, { atMostMs: withJitter(waitMs, random), signal });
}

/**
 * Sends a response away that should wait elsewhere. Returns for how long, in milliseconds, so that all of its
 * tenant that were sent away come back about as they can be served, and sooner if another of the routes may take it sooner; undefined if one does by now.
 *
 * @param mostMs the longest time, in milliseconds.
 */
export function sendAway(
  health: FindRouteDependencies['health'],
  routes: readonly ModelRoute[],
  waiter: WaitingResponse,
  mostMs: number,
): number | undefined {
  let soonest: { line: ModelRoute | undefined; awayMs: number } | undefined;
  for (const route of routes) {
    const block = health.blockOf(route, waiter);
    if (!block) return undefined;
    const isLimited = block.because === 'busy' || block.because === 'parked';
    const { away, pressure } = health.at(route);
    const wantedMs = isLimited
      ? away.nextMs(waiter.tenant, block.waitMs, pressure.servedPerSecond)
      : block.waitMs;
    const awayMs = Math.min(wantedMs, mostMs);
    if (!soonest || awayMs < soonest.awayMs) soonest = { line: isLimited ? route : undefined, awayMs };
  }
  if (soonest?.line) health.at(soonest.line).away.add(waiter.tenant, soonest.awayMs);
  return soonest?.awayMs;
}

function mayWaitHere(block: RouteBlock, waitedMs: number): boolean {
  if (block.because === 'busy') return !block.isLineFull && waitedMs < waitInLineMs;
  return waitedMs + block.waitMs <= waitHereMs;
}
