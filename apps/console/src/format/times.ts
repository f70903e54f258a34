import { unknown } from './numbers.ts';

type Maybe = number | null | undefined;

/** A span: `840 ms`, `1.24 s`, `3 m 20 s`, `2 h 5 m`, `4 d 3 h`. */
export function formatDuration(ms: Maybe): string {
  if (ms === null || ms === undefined) return unknown;
  if (ms < 1) return ms === 0 ? '0 ms' : '< 1 ms';
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_995) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** How far `at` is from `now`: `now`, `12 s ago`, `3 m ago`, `in 2 h`. Coarse, for reading at a glance. */
export function formatRelative(at: number, now: number): string {
  const ms = Math.abs(now - at);
  if (ms < 1_500) return 'now';
  const [count, unit]: [number, string] =
    ms < 59_500
      ? [ms / 1000, 's']
      : ms < 3_570_000
        ? [ms / 60_000, 'm']
        : ms < 84_600_000
          ? [ms / 3_600_000, 'h']
          : [ms / 86_400_000, 'd'];
  const span = `${Math.round(count)} ${unit}`;
  return at <= now ? `${span} ago` : `in ${span}`;
}

const exact = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'medium',
});

/** The moment in full, in the time of this machine, with milliseconds: `22 Nov 2026, 23:50:43.120`. */
export function formatMoment(at: Maybe): string {
  if (at === null || at === undefined) return unknown;
  return `${exact.format(at)}.${String(Math.floor(at) % 1000).padStart(3, '0')}`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** `23:50:43` */
export function formatClock(at: Maybe): string {
  return at === null || at === undefined ? unknown : clock.format(at);
}
