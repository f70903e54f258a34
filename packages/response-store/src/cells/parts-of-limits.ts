import type { AdmissionLimits } from '@sluice/admission';
import {
  budgetNames,
  countedLimits,
  type GivenLimits,
  type LimitName,
  tenantLimits,
} from '@sluice/contract/tenant-limits';

type Limits = Readonly<GivenLimits>;

/** The part of a limit that one of several cells has: which one of how many. */
export interface Part {
  at: number;
  of: number;
}

/** The limits that must be at least one in each cell. */
const wholeInEach = [
  'requestsPerMinute',
  'tokensPerMinute',
  'concurrent',
  'queued',
] as const satisfies LimitName[];

/** How many of the open cells the new responses of a tenant are divided among: no more than have a part of each limit. */
export function cellCountOf(limits: Limits, open: number): number {
  const most = wholeInEach.map((name) => limits[name] ?? Number.POSITIVE_INFINITY);
  return Math.max(1, Math.min(limits.cells ?? 1, open, ...most));
}

/**
 * The part of each limit that holds in one cell. The parts of all cells together are the limit, so it is exact however many apis accept in
 * however many cells, and a cell that is away holds up nothing but its part.
 *
 * @param own the limits that the keys of the tenant say. The others are a share of what each cell has, and are not divided.
 */
export function partOfLimits<Whole extends AdmissionLimits>(limits: Whole, own: Limits, part: Part): Whole {
  if (part.of === 1) return limits;
  const key = limits.key && partOf(limits.key, budgetNames, part);
  return {
    ...limits,
    ...partOf(own, countedLimits, part),
    ...(key && { key: { ...limits.key, ...key } }),
    whole: limits,
  };
}

function partOf<Name extends LimitName>(
  limits: { readonly [Each in Name]?: number | undefined },
  names: readonly Name[],
  part: Part,
): { [Each in Name]?: number } {
  const parts: { [Each in Name]?: number } = {};
  for (const name of names) {
    const whole = limits[name];
    if (whole !== undefined) parts[name] = partOfOne(whole, tenantLimits[name].unit, part);
  }
  return parts;
}

/** The millionth of the currency is the least that is divided; other amounts are whole. */
function partOfOne(whole: number, unit: (typeof tenantLimits)[LimitName]['unit'], { at, of }: Part): number {
  if (unit === 'money') return Math.floor((whole / of) * 1e6) / 1e6;
  return Math.floor(whole / of) + (at < whole % of ? 1 : 0);
}
