import { useSyncExternalStore } from 'react';
import { unknown } from '../format/numbers.ts';
import { formatDuration, formatMoment, formatRelative } from '../format/times.ts';

/** A span of time. The title has it in milliseconds. */
export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return unknown;
  return <span title={`${ms.toLocaleString('en')} ms`}>{formatDuration(ms)}</span>;
}

/** A moment as "12 s ago", kept up to date. The title has it in full. */
export function Moment({ at }: { at: number | null | undefined }) {
  const now = useNow();
  if (at === null || at === undefined) return unknown;
  return (
    <time dateTime={new Date(at).toISOString()} title={formatMoment(at)}>
      {formatRelative(at, now)}
    </time>
  );
}

/** The time of this machine in Unix milliseconds, anew each second; one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** The present minute: its beginning in Unix milliseconds by the clock of this machine, anew when it is over. */
export function useMinute(): number {
  return useSyncExternalStore(subscribe, () => Math.floor(Date.now() / minuteMs) * minuteMs);
}

const minuteMs = 60_000;

let now = Date.now();
let timer: number | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}
