const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The longer times that are kept, each with the length of its spans and of the hashes that they are stored in, in milliseconds. */
export const historySpans = [
  { name: 'day', lengthMs: dayMs, spanMs: 5 * minuteMs, hashMs: hourMs, keepMs: dayMs + 2 * hourMs },
  { name: 'week', lengthMs: 7 * dayMs, spanMs: hourMs, hashMs: dayMs, keepMs: 8 * dayMs + 2 * hourMs },
] as const;
export type HistorySpan = (typeof historySpans)[number]['name'];
