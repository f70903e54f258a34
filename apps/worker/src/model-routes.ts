import type { Provider } from '@sluice/providers';

/** An upstream of a model, and the name it knows the model by. */
export interface ModelRoute {
  provider: Provider;
  model: string;
  /** The server of the provider that it leads to, where the provider has several. Each has a route of its own. */
  server?: PoolServer;
}

/** One of several servers of a provider. */
export interface PoolServer {
  /** Its address, as operators see it. */
  name: string;
  /** Tells it from the servers of all providers, in every process. */
  key: string;
}

/**
 * Why a route takes no calls, and how long to wait before another look, in milliseconds.
 *
 * - `parked`: its upstream has said when it takes calls again
 * - `busy`: it has as many calls as it takes; `waitMs` estimates the time until this call's turn
 * - `saturated`: too many requests wait at the upstream itself
 * - `open`: its upstream has been down for `downMs`
 */
export type RouteBlock =
  | { because: 'parked'; waitMs: number }
  | { because: 'busy'; waitMs: number; isLineFull: boolean }
  | { because: 'saturated'; waitMs: number }
  | { because: 'open'; waitMs: number; downMs: number };

/** Undefined when a route takes calls. */
export type BlockOf = (route: ModelRoute) => RouteBlock | undefined;

/** How often each route has failed for one response. */
export type TriedRoutes = Map<ModelRoute, number>;

export type RouteChoice =
  | { kind: 'route'; route: ModelRoute }
  /**
   * No route takes calls now, and the first may in `waitMs`. `block` is of the kind that comes first among `busy`, `parked`,
   * `saturated` and `open`; if all are open, its `downMs` is the shortest.
   */
  | { kind: 'blocked'; block: RouteBlock }
  /** There is no route to choose from. */
  | { kind: 'none' };

/**
 * Chooses the route of a call: among those that take calls, the one that has failed least often for this response, and
 * among equals the first of the file. So a route that failed is called again only after all others.
 */
export function chooseRoute(
  routes: readonly ModelRoute[],
  tried: ReadonlyMap<ModelRoute, number>,
  blockOf: BlockOf,
): RouteChoice {
  let best: { route: ModelRoute; failures: number } | undefined;
  let blocked: RouteBlock | undefined;
  for (const route of routes) {
    const block = blockOf(route);
    const failures = tried.get(route) ?? 0;
    if (block) blocked = blocked ? bothBlocks(blocked, block) : block;
    else if (best === undefined || failures < best.failures) best = { route, failures };
  }
  if (best) return { kind: 'route', route: best.route };
  return blocked ? { kind: 'blocked', block: blocked } : { kind: 'none' };
}

/** Blocks in the order in which a response waits for them when two routes are blocked. */
const precedence = ['busy', 'parked', 'saturated', 'open'] as const;

function bothBlocks(one: RouteBlock, other: RouteBlock): RouteBlock {
  const waitMs = Math.min(one.waitMs, other.waitMs);
  if (one.because === 'open' && other.because === 'open') {
    return { because: 'open', waitMs, downMs: Math.min(one.downMs, other.downMs) };
  }
  if (one.because === 'busy' && other.because === 'busy') {
    return { because: 'busy', waitMs, isLineFull: one.isLineFull && other.isLineFull };
  }
  const isFirst = precedence.indexOf(one.because) <= precedence.indexOf(other.because);
  return { ...(isFirst ? one : other), waitMs };
}

/**
 * How long no call of these routes can begin, in milliseconds; 0 when a route takes calls or has room in its line, or when
 * there is no route.
 */
export function blockedMs(routes: readonly ModelRoute[], blockOf: BlockOf): number {
  const choice = chooseRoute(routes, new Map(), blockOf);
  if (choice.kind !== 'blocked') return 0;
  const { block } = choice;
  return block.because === 'busy' && !block.isLineFull ? 0 : block.waitMs;
}

/** The routes that have not failed for a response yet. */
export function untried(routes: readonly ModelRoute[], tried: ReadonlyMap<ModelRoute, number>): ModelRoute[] {
  return routes.filter((route) => !tried.has(route));
}
