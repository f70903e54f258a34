import { type Dimension, dimensions, hourOf, msPerHour, type UsageQuery, type UsageSum } from '@sluice/usage';
import { badUsage } from '../command-flags.ts';

/** The flags of `sluice usage` that say what is asked for. */
export interface UsageFlags {
  since?: string | undefined;
  until?: string | undefined;
  each?: string | undefined;
  by?: string | undefined;
  tenant?: readonly string[] | undefined;
  model?: readonly string[] | undefined;
}

export interface AskedUsage {
  query: UsageQuery;
  /** When the time of a sum begins and ends, in ISO 8601. */
  timesOf: (sum: Pick<UsageSum, 'hour'>) => { since: string; until: string };
  /** Whether there is more than one time. */
  hasTimes: boolean;
}

const periods: Readonly<Record<string, number>> = { hour: 1, day: 24 };
const units: Readonly<Record<string, number>> = { h: 1, d: 24 };

/** @throws {FatalError} with exit code 2 that names the flag that is wrong. */
export function askedUsage(flags: UsageFlags, now: number): AskedUsage {
  const { each = 'all', by = 'tenant,model', since = '7d', until, tenant, model } = flags;
  const isAll = each === 'all';
  const period = isAll ? 1 : periods[each];
  if (period === undefined) throw badUsage('usage', `--each: '${each}' is none of hour, day and all`);
  const down = (hour: number) => Math.floor(hour / period) * period;
  const from = down(hourOf(timeIn('since', since, now)));
  const end = until === undefined ? now : timeIn('until', until, now);
  const last = Math.ceil(Math.ceil(end / msPerHour) / period) * period;
  if (last <= from) throw badUsage('usage', '--until: must be later than --since');
  const iso = (hour: number) => new Date(hour * msPerHour).toISOString().replace(/:00\.000Z$/, 'Z');
  return {
    query: {
      from,
      until: last,
      // Everything falls into the one that begins in 1970.
      hoursEach: isAll ? last : period,
      groupBy: groupsIn(by),
      where: { ...(tenant && { tenant }), ...(model && { model }) },
    },
    timesOf: ({ hour }) =>
      isAll ? { since: iso(from), until: iso(last) } : { since: iso(hour), until: iso(hour + period) },
    hasTimes: !isAll,
  };
}

function groupsIn(text: string): Dimension[] {
  const names = text === '' ? [] : text.split(',').map((name) => name.trim());
  return names.map((name) => {
    const found = dimensions.find((each) => each === name);
    if (!found) throw badUsage('usage', `--by: '${name}' is none of ${dimensions.join(', ')}`);
    return found;
  });
}

function timeIn(flag: string, text: string, now: number): number {
  const [, count, unit = ''] = /^(\d{1,6})([hd])$/.exec(text) ?? [];
  if (count !== undefined) return now - Number(count) * (units[unit] ?? 1) * msPerHour;
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time) || time < 0)
    throw badUsage('usage', `--${flag}: '${text}' is no date, no time and no age such as 24h or 30d`);
  return time;
}
