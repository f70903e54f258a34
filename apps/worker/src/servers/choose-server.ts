import type { ModelRoute, PoolServer } from '../model-routes.ts';
import type { Affinity } from './affinity.ts';

/** No server gets a call that gives it more than this multiple of its share of the calls under way; but see `fewCalls`. */
export const mostOfShare = 1.25;

/**
 * A call that begins a conversation gives it no more than this, so that there is room for those that go on: they lose far more
 * elsewhere. With 1.25 for both, fewer blocks are found in caches and the servers have less even shares; see decision 0061.
 */
const mostOfShareAtFirst = 1.1;

/**
 * While a share is fewer calls than this, a conversation that goes on finds room for one more call at its server. A quarter of
 * a few calls is less than they come and go by chance, and the one may be its own last call: others hear of the end of a call
 * half a second late. Without it, a fifth of the hits are lost where a server has about one call at a time; see decision 0061.
 */
const fewCalls = 8;

export interface ServerChoice {
  /** Undefined when nothing says where a call should go. */
  affinity: Affinity | undefined;
  /** Whether a server may be called now. The others have no share of the calls. */
  isOpen: (route: ModelRoute) => boolean;
  /** The calls under way at a server, as far as this process knows. */
  loadOf: (server: PoolServer) => number;
  /** From 0 to 1. */
  random: () => number;
}

/**
 * Puts the routes of each provider that has several servers in the order in which a call should try them. Everything else
 * keeps its place.
 */
export function orderServers(routes: readonly ModelRoute[], choice: ServerChoice): readonly ModelRoute[] {
  if (!routes.some(({ server }) => server)) return routes;
  const ordered: ModelRoute[] = [];
  for (let at = 0; at < routes.length; ) {
    const pool = poolAt(routes, at);
    if (pool.length === 1) ordered.push(...pool);
    else ordered.push(...orderPool(pool, choice));
    at += pool.length;
  }
  return ordered;
}

/** The routes from a place on that lead to servers of one provider. */
function poolAt(routes: readonly ModelRoute[], start: number): readonly ModelRoute[] {
  const [first] = routes.slice(start, start + 1);
  let end = start + 1;
  for (; first?.server && end < routes.length; end += 1) {
    const next = routes[end];
    if (!next?.server || next.provider.id !== first.provider.id || next.model !== first.model) break;
  }
  return routes.slice(start, end);
}

/**
 * Orders servers by rendezvous hashing with bounded load: the servers in the order of the call's key, those that have their
 * share of the calls under way behind the others. The server that has the conversation already is first in the order of the
 * key. Without a key, the less loaded of two random servers is first, and the others follow by their load.
 */
function orderPool(pool: readonly ModelRoute[], choice: ServerChoice): ModelRoute[] {
  const { affinity, isOpen, loadOf, random } = choice;
  const servers = pool.flatMap((route) =>
    route.server ? [{ route, server: route.server, load: loadOf(route.server) }] : [],
  );
  const byLoad = (one: { load: number }, other: { load: number }) => one.load - other.load;
  if (!affinity) {
    const two = twoOf(servers, random);
    const rest = servers.filter((each) => !two.includes(each));
    return [...two.toSorted(byLoad), ...rest.toSorted(byLoad)].map(({ route }) => route);
  }
  const inOrder = servers
    .map((each) => ({ ...each, score: scoreOf(each.server, affinity) }))
    .toSorted((one, other) => other.score - one.score || (one.server.name < other.server.name ? -1 : 1));
  const loads = servers.filter(({ route }) => isOpen(route)).map(({ load }) => load);
  const most = mostCallsToGoOn(loads);
  const mostAtFirst = mostCalls(loads, mostOfShareAtFirst);
  const hasRoom = ({ server, load }: { server: PoolServer; load: number }) =>
    load < (goesOnAt(server, affinity) ? most : mostAtFirst);
  const full = inOrder.filter((each) => !hasRoom(each)).toSorted(byLoad);
  return [...inOrder.filter(hasRoom), ...full].map(({ route }) => route);
}

/** Whether a conversation goes on at a server: the one that ran it last, or any where nobody knows which that was. */
function goesOnAt({ key }: PoolServer, { goesOn, previous }: Affinity): boolean {
  return goesOn && (previous === undefined || previous === key);
}

/** Most calls that each of some servers may have under way, with one that is about to begin: so many shares, rounded up. */
export function mostCalls(loads: readonly number[], shares: number): number {
  const calls = loads.reduce((sum, load) => sum + load, 1);
  return Math.ceil((shares * calls) / Math.max(1, loads.length));
}

/** The same for a conversation that goes on. */
export function mostCallsToGoOn(loads: readonly number[]): number {
  const share = loads.reduce((sum, load) => sum + load, 1) / Math.max(1, loads.length);
  return mostCalls(loads, mostOfShare) + (share < fewCalls ? 1 : 0);
}

function twoOf<Each>(all: readonly Each[], random: () => number): Each[] {
  const first = Math.min(Math.floor(random() * all.length), all.length - 1);
  const step = 1 + Math.min(Math.floor(random() * (all.length - 1)), Math.max(0, all.length - 2));
  const second = (first + step) % all.length;
  return [all[first], all[second]].filter((each): each is Each => each !== undefined);
}

function scoreOf(server: PoolServer, { key, previous }: Affinity): number {
  return server.key === previous ? Number.POSITIVE_INFINITY : hashOf(`${key} ${server.key}`);
}

/** A number of 32 bits that differs in about half of them for any other text: FNV-1a, and the last step of MurmurHash3. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
