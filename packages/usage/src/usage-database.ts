/** The usage of one response. Times are milliseconds of the store's clock. */
export interface UsageFact {
  /** The id of the response. A fact that is recorded again, under the same id, counts once. */
  id: string;
  tenant: string;
  /** The API key, by the first characters of its SHA-256; empty when that is not known. */
  key: string;
  model: string;
  tier: string;
  /** The label in its metadata; empty without one. */
  label: string;
  outcome: 'completed' | 'failed' | 'incomplete' | 'cancelled';
  /** Undefined when it never ran. */
  startedAt: number | undefined;
  endedAt: number;
  /** In billionths of the currency, which are whole; undefined without a price. */
  spend: number | undefined;
  tokens: Partial<Record<TokenKind, number>>;
}

/** Kinds of tokens. `cached` and `cacheWrite` are among those of the input, and `reasoning` among those of the output. */
export const tokenKinds = ['input', 'cached', 'cacheWrite', 'output', 'reasoning', 'uncounted'] as const;

/** `uncounted` is an estimate, for what an upstream took and never counted, because it was cut off. */
export type TokenKind = (typeof tokenKinds)[number];

/** The properties by which responses are told apart. */
export const dimensions = ['tenant', 'key', 'model', 'tier', 'label'] as const;
export type Dimension = (typeof dimensions)[number];

/** Hours are counted since 1970. */
export interface UsageQuery {
  /** The first hour, and that behind the last one. */
  from: number;
  until: number;
  /** How many hours are summed up together; buckets begin at a multiple of it. */
  hoursEach: number;
  groupBy: readonly Dimension[];
  /** Only those that have one of these values. */
  where?: Partial<Record<Dimension, readonly string[]>>;
  /** Only those of the tier `batch`, or only the others. */
  isBatch?: boolean | undefined;
  /** Most sums of the answer; `mostSums` by default. */
  most?: number | undefined;
}

/** The usage of a bucket and a group together. A dimension is null when they are not grouped by it. */
export interface UsageSum extends Record<Dimension, string | null>, Record<TokenKind, number> {
  /** The first hour of the bucket. */
  hour: number;
  responses: number;
  completed: number;
  failed: number;
  incomplete: number;
  cancelled: number;
  /** How long they held slots of workers, in milliseconds. */
  slotMs: number;
  /** What their tokens cost, in billionths of the currency. */
  spend: number;
}

/** The sums of whole buckets: of all that were asked for, or of as many as fit into one answer. */
export interface UsageAnswer {
  sums: UsageSum[];
  /** The hour in which the buckets begin that did not fit; that behind the last one of the query when all did. */
  until: number;
}

/** A bucket alone has more sums than an answer. */
export class TooManySums extends Error {
  override readonly name = 'TooManySums';
  readonly most: number;

  constructor(most: number) {
    super(`There are more than ${most} groups in one bucket of time.`);
    this.most = most;
  }
}

/** Where usage is kept. Every call may take long, and rejects when the database cannot be used. */
export interface UsageDatabase {
  /** The same each time for the same database, and another for every other one. */
  id(): Promise<string>;
  /** Adds facts to the sums, all of them or, when it rejects, none. One that was recorded in the last days counts for nothing. */
  record(facts: readonly UsageFact[]): Promise<void>;
  /**
   * The sums of each bucket and group in which anything ended, in the order of time. `asker` shares the database with others.
   *
   * @throws {TooManySums} when the first bucket alone has more than an answer.
   */
  sums(query: UsageQuery, asker: string): Promise<UsageAnswer>;
  close(): Promise<void>;
}

/** How long a fact is known by its id, so that it counts once, in hours. The outbox keeps nothing near as long. */
export const rememberedHours = 8 * 24;

/**
 * Most sums of an answer: a process holds them, and copies and prints them in one go. With a label in each, 5,000 take an event loop some 20 ms, and
 * 20,000 took 80 to 130.
 */
export const mostSums = 5_000;

export const msPerHour = 3_600_000;

export const hourOf = (ms: number): number => Math.floor(ms / msPerHour);
