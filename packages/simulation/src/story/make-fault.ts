import type { Random } from '../world/random.ts';
import type { FaultPlan } from './scenario.ts';

/**
 * Faults that come together. Some of the promises hold for the milder ones alone, so most seeds have only those of one family.
 */
export const families = {
  crashes: ['kill', 'kill', 'kill', 'suspects', 'cut', 'lose a reply'],
  outages: ['freeze', 'freeze', 'cut', 'lose a reply', 'lose a reply'],
  losses: ['forget', 'forget', 'empty', 'lag', 'kill', 'cut'],
  silences: ['pause', 'long pause', 'long pause', 'silence', 'lose replies', 'full', 'replica', 'slow'],
  deployments: ['stop', 'stop', 'stop', 'stop', 'cut', 'slow'],
  others: ['clock', 'two rescuers'],
} as const;
export type Family = readonly (typeof families)[keyof typeof families][number][];
export const everything: Family = Object.values(families).flat();

/** A fault begins when somebody asks for something, or a while after that: nothing happens at other times. */
export function makeFault(
  random: Random,
  names: readonly string[],
  moments: readonly number[],
  family: Family,
): FaultPlan {
  const askedMs = moments[random.between(0, moments.length - 1)] ?? 0;
  const atMs = askedMs + random.skewed(random.pick([0.5, 10, 300]));
  const process = names[random.between(0, names.length - 1)] ?? 'worker-0';
  const messages = Math.floor(random.skewed(random.pick([2, 20])));
  // The first one has the short commands.
  const connection = random.happens(0.5) ? 0 : random.between(1, 7);
  const forMs = random.skewed(random.pick([300, 1_500, 4_000]));
  const downMs = random.skewed(random.pick([100, 3_000]));
  const kind = family[random.between(0, family.length - 1)] ?? 'kill';
  switch (kind) {
    case 'kill':
      return { kind, atMs, process, messages, downMs };
    case 'suspects':
      return { kind: 'kill', atMs: 0, process: `worker-0.${random.between(1, 2)}`, messages, downMs };
    case 'stop':
      return { kind, atMs, process, downMs };
    case 'pause':
      return { kind, atMs, process, forMs: random.skewed(random.pick([50, 1_500, 6_000])) };
    case 'long pause':
      // Longer than all that a process holds.
      return { kind: 'pause', atMs, process, forMs: random.between(4_000, 9_000) };
    case 'clock':
      return { kind, atMs, process, byMs: random.pick([-3_600_000, -2_000, 2_000, 3_600_000]) };
    case 'lose a reply':
      return { kind, atMs, process, messages };
    case 'cut':
    case 'silence':
    case 'lose replies':
      return { kind, atMs, process, connection, messages };
    case 'empty':
      return { kind, atMs, forMs: 0 };
    case 'two rescuers':
      return { kind, atMs, forMs: 8_000 };
    case 'freeze':
      return { kind, atMs, forMs: random.happens(0.5) ? random.between(2_000, 7_000) : forMs };
    case 'slow':
    case 'lag':
    case 'full':
    case 'replica':
    case 'forget':
      return { kind, atMs, forMs };
  }
}
