/** What a load generator sends, and how it recognises a good answer. */
export interface Target {
  origin: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** The answer contains this text once for each token. */
  mark: string;
  marks: number;
  /** The last bytes of a whole answer contain this text. */
  ending: string;
  /** A header that has another value in each request. Absent: none. */
  freshHeader?: string;
  /** The status of a good answer. Default: 200. */
  status?: number;
  /** Whether the id of the response is looked for in the answer. Default: it is not. */
  tellsId?: boolean;
}

/** One round of load. */
export interface LoadOrder {
  target: Target;
  concurrency: number;
  /** No request starts after this time. Requests in flight are finished. */
  durationMs: number;
  /** The most requests to send. Absent: as many as fit into the time. */
  count?: number;
  /** Lanes start evenly spread over this time, instead of all at once. */
  staggerMs?: number;
  /** From an answer to the next request of its lane. Default: 0. */
  pauseMs?: number;
  /** A request that is refused with 503 goes again after this time, as its client would. Absent: it is a wrong answer. */
  retryMs?: number;
  /** Values of the header `authorization`, one for each lane. Absent: that of the target. */
  authorizations?: readonly string[];
  /** Each lane continues its last response, also that of an earlier order with the same name. Absent: each request is a first one. */
  conversation?: string;
}

export interface Percentiles {
  p50: number;
  p99: number;
}

/** The result of an order. Times are in milliseconds. */
export interface LoadResult {
  completed: number;
  /** Answers with another status, without some of their marks, or cut short. */
  failed: number;
  /** Answers of 503 to requests that went again. */
  refused: number;
  firstFailure: string | undefined;
  elapsedMs: number;
  /** Marks in all good answers. */
  marks: number;
  /** From sending a request to the end of its answer. */
  latencyMs: Percentiles;
  /** From sending a request to the first mark of its answer. */
  firstMarkMs: Percentiles;
  /** From a mark of an answer to the next one; NaN for answers with one mark. */
  gapMs: Percentiles;
}

/** The answer of the process. */
export type LoadReply = { result: LoadResult } | { error: string };
