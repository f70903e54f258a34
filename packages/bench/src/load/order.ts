/** What a load generator sends, and how it knows that the answer is right. */
export interface Target {
  origin: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** Stands in the answer once for each token: looked for instead of parsing. */
  mark: string;
  marks: number;
  /** Stands in the last bytes of a whole answer. */
  ending: string;
}

/** One round of load. */
export interface LoadOrder {
  target: Target;
  concurrency: number;
  /** No request starts after this long; those under way are finished. */
  durationMs: number;
  /** Most requests; as many as fit into the time when absent. */
  count?: number;
  /** Lanes start evenly over this time instead of all at once. */
  staggerMs?: number;
}

export interface Percentiles {
  p50: number;
  p99: number;
}

/** What came of an order. Times are in milliseconds. */
export interface LoadResult {
  completed: number;
  /** Answers with another status, with marks missing, or cut short. */
  failed: number;
  firstFailure: string | undefined;
  elapsedMs: number;
  /** Marks in all good answers. */
  marks: number;
  /** From sending a request to the end of its answer. */
  latencyMs: Percentiles;
  /** From sending a request to the first mark of its answer. */
  firstMarkMs: Percentiles;
}

/** What the process answers. */
export type LoadReply = { result: LoadResult } | { error: string };
