/** A count with separators, such as `4,824`. */
export function count(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

/** A number for people, with up to three digits, or more before the point: `0.42`, `42.1`, `4,210`. */
export function figure(value: number): string {
  if (value < 0.005) return '0';
  if (value < 9.995) return value.toFixed(2);
  return value < 99.95 ? value.toFixed(1) : count(value);
}

/** A duration for people, such as `4.21 ms`, `42.1 s` or `2m 03s`. */
export function time(ms: number): string {
  if (ms < 999.5) return `${figure(ms)} ms`;
  if (ms < 99_950) return `${figure(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, '0')}s`;
}

/** A whole duration that somebody has set, such as `30 s` or `10 min`. */
export function setTime(ms: number): string {
  if (ms >= 3_600_000 && ms % 3_600_000 === 0) return `${ms / 3_600_000} h`;
  if (ms >= 60_000 && ms % 60_000 === 0) return `${ms / 60_000} min`;
  return ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`;
}

/** A share from 0 to 1, such as `61 %`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
