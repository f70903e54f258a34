/** Requests of one kind that are sent together, each with a tag of its own. */
export interface Flow {
  /** The tags are `<name>-<number>` from 0 on. */
  name: string;
  /** Addresses of api processes, taken in turns. */
  origins: readonly string[];
  key: string;
  /** The body of each request without its input. */
  request: Record<string, unknown>;
  input: string;
  count: number;
  /** From one request to the next, whatever became of it. With 0, `lanes` requests are kept in flight. */
  everyMs: number;
  lanes: number;
  /** From the start of the flow: then nothing more is sent, and what has no whole answer is given up. */
  lastsMs: number;
}

/** A request that was sent. Times are milliseconds since the epoch. */
export interface Sent {
  tag: string;
  /** When it was sent first. */
  at: number;
  /** How often it was answered with 503 and sent again. Such an answer promises that nothing was accepted. */
  refusals: number;
  /** When its answer was whole, or when it was given up. */
  answeredAt: number;
  /** 0 for a request that was given up, or whose connection broke. */
  status: number;
  /** The id of its response. */
  id?: string;
  /** When the first token of a stream was read. */
  firstTokenAt?: number;
}

export type TrafficReply = { sent: Sent[][] } | { error: string };
