import { setTimeout as pause } from 'node:timers/promises';
import { askRedis, within } from '@sluice/testing';
import type { FaultSite } from './fault-site.ts';
import type { Fault } from './matrix.ts';

/** A fault that has begun. */
export interface BegunFault {
  /** When it began, by the clock that does not jump, in milliseconds. Default: when it was asked for. */
  begunAt?: number;
  /** Resolves when the fault is over: at once for a death, with the repair for an outage. */
  over: Promise<void>;
  /** Resolves when dead processes are replaced, too. */
  repaired: Promise<void>;
}

/** What is known of a fault before it begins. */
export interface Injection {
  /** How long an outage lasts, in milliseconds; 0 for a death. */
  lastsMs: number;
  begin: () => BegunFault | Promise<BegunFault>;
}

/** Longer than the patience of an api, so that requests are refused, and shorter or longer than a lock. */
const outageMs = { shortest: 1_800, longest: 4_500 };

/** Makes a fault ready. `random` decides how long it lasts. */
export function injectionOf(site: FaultSite, fault: Fault, random: () => number): Injection {
  const someOutageMs = outageMs.shortest + random() * (outageMs.longest - outageMs.shortest);
  switch (fault) {
    case 'api killed':
      return death(() => endApis(site, 'SIGKILL'));
    case 'worker killed':
      return death(() => endWorkers(site, 'SIGKILL'));
    case 'api stopped with SIGTERM':
      return death(() => endApis(site, 'SIGTERM'));
    case 'worker stopped with SIGTERM':
      return death(() => endWorkers(site, 'SIGTERM'));
    case 'Redis killed and restarted':
      return outage(
        someOutageMs,
        () => site.killRedis(),
        () => site.restartRedis(),
      );
    case 'Redis frozen for longer than a lock': {
      const { pid } = site.redis();
      return outage(
        site.lockMs + 500 + random() * 1_500,
        () => void process.kill(pid, 'SIGSTOP'),
        () => void process.kill(pid, 'SIGCONT'),
      );
    }
    case 'path to Redis cut':
      return outage(
        someOutageMs,
        () => site.proxy().refuse(),
        () => site.proxy().mend(),
      );
    case 'path to Redis silent':
      return outage(
        someOutageMs,
        () => site.proxy().silence(),
        () => site.proxy().speak(),
      );
    case 'path to Redis lost without a word':
      return outage(
        someOutageMs,
        () => site.proxy().losePath(),
        () => site.proxy().restorePath(),
      );
    case 'Redis failed over to its replica':
      return {
        lastsMs: someOutageMs / 4,
        async begin() {
          // Requests from now on arrive at a primary that takes no more writes.
          const { askedAt, settle } = await site.failOver();
          const over = pause(someOutageMs / 4).then(settle); // the failover itself: clients are still led to the former primary
          return { begunAt: askedAt, over, repaired: over };
        },
      };
    case 'one in a hundred replies of Redis lost':
      return outage(
        someOutageMs,
        () => site.proxy().loseEvery(100),
        () => site.proxy().loseEvery(0),
      );
    case 'upstream cut':
      return death(() => {
        site.upstream.cutAll();
        return Promise.resolve();
      });
    case 'subscriber connections cut':
      return outage(
        300,
        () => cutSubscribers(site),
        () => cutSubscribers(site),
      );
  }
}

/** `end` sends the signal at once and resolves when what died has been replaced. */
function death(end: () => Promise<void>): Injection {
  return { lastsMs: 0, begin: () => ({ over: Promise.resolve(), repaired: end() }) };
}

function outage(
  lastsMs: number,
  start: () => void | Promise<void>,
  stop: () => void | Promise<void>,
): Injection {
  return {
    lastsMs,
    async begin() {
      await start();
      const over = pause(lastsMs).then(stop); // this is the outage itself, not a wait for something
      return { over, repaired: over };
    },
  };
}

/** Ends the api that callers are attached to, which is the first. */
async function endApis(site: FaultSite, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const leaving = site.apis().slice(0, 1);
  await endAndReplace(site, leaving, signal);
}

/** Ends every worker, so that whatever runs is hit. One that is new takes over. */
async function endWorkers(site: FaultSite, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  await endAndReplace(site, [...site.workers()], signal);
}

/** Sends a signal to processes and puts others in their places. Rejects if one that was told to stop did not do so cleanly. */
export async function endAndReplace(
  site: FaultSite,
  leaving: Parameters<FaultSite['dismiss']>[0],
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<void> {
  for (const each of leaving) each.signal(signal);
  site.dismiss(leaving);
  await site.refill();
  const exits = await Promise.all(leaving.map(({ exited }) => within(exited, { timeoutMs: 40_000 })));
  const unclean = signal === 'SIGTERM' ? exits.filter(({ code }) => code !== 0) : [];
  if (unclean.length > 0) throw new Error(`did not stop with exit code 0: ${JSON.stringify(unclean)}`);
}

async function cutSubscribers(site: FaultSite): Promise<void> {
  await Promise.all(site.stores().map(({ port }) => askRedis(port, 'CLIENT', 'KILL', 'TYPE', 'pubsub')));
}
