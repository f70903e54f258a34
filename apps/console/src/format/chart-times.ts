/** The times of a chart in words. */
export interface ChartTimes {
  /** A mark of the axis, such as `14:00`, `23 Nov` or `23 Nov 12:00`. Empty where it would name a part of one bar. */
  mark: (at: number) => string;
  /** The moment under the pointer, such as `14:00:05`, `23 Nov 14:00` or `Mon 23 Nov`. */
  moment: (at: number) => string;
}

const dayMs = 86_400_000;

/** Longer than this, in milliseconds, an axis names days. */
const longAxis = 1.5 * dayMs;

/** Longer than this, in milliseconds, a time of day does not say which day it is of. */
const longClock = 0.5 * dayMs;

/**
 * How a chart of these moments, oldest first, names them: with a date where it is long, and without a time where each stands for
 * a day. `timeZone` is that of this machine when left out.
 */
export function chartTimes(times: readonly number[], timeZone?: string): ChartTimes {
  const { date, weekday, time, clock } = formatsOf(timeZone);
  const length = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const step = (times[1] ?? 0) - (times[0] ?? 0);
  const dateAndTime = (at: number) => `${date(at)} ${time(at)}`;
  if (step >= dayMs) return { mark: (at) => (time(at) === '00:00' ? date(at) : ''), moment: weekday };
  const markOfDays = (at: number) => (time(at) === '00:00' ? date(at) : dateAndTime(at));
  return {
    mark: length > longAxis ? markOfDays : time,
    moment: length > longClock ? dateAndTime : clock,
  };
}

type Format = (at: number) => string;
type Formats = Record<'date' | 'weekday' | 'time' | 'clock', Format>;

const known = new Map<string | undefined, Formats>();

/** The formats of a time zone, each of which is slow to make. */
function formatsOf(timeZone: string | undefined): Formats {
  const found = known.get(timeZone);
  if (found) return found;
  const format = (parts: Intl.DateTimeFormatOptions): Format => {
    const made = new Intl.DateTimeFormat('en-GB', { ...parts, timeZone });
    return (at) => made.format(at).replace(',', '');
  };
  const date = { day: 'numeric', month: 'short' } as const;
  const time = { hour: '2-digit', minute: '2-digit' } as const;
  const formats = {
    date: format(date),
    weekday: format({ ...date, weekday: 'short' }),
    time: format(time),
    clock: format({ ...time, second: '2-digit' }),
  };
  known.set(timeZone, formats);
  return formats;
}
