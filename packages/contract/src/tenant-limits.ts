/**
 * The limits of a tenant, one row each. The schema of a key, the admin API, the flags and tables of the command, the forms of the
 * console and the arguments of admission follow from this table. It imports nothing, because browsers load it too.
 */

/** A bound of the service. A tenant has half of it unless its keys say otherwise. */
export type ServiceBound = 'queued' | 'queuedBytes' | 'redisBytes';

export interface LimitRow {
  /** Its name on the wire and in Lua; with hyphens, its flag. */
  wire: string;
  /** The use that counts against it, by its name on the wire. Null for a limit of single requests or of one process. */
  use: string | null;
  label: string;
  /** Heads a column. */
  short: string;
  /** `money` is in the currency of the prices of models, and may have a fraction; the others are whole. */
  unit: 'count' | 'bytes' | 'tokens' | 'money';
  least: number;
  most: number;
  description: string;
  /** The rule for a tenant whose keys do not say it: a number, or something in words, such as half of a bound of the service. */
  otherwise: number | { words: string; halfOf?: ServiceBound };
}

const most = 1_000_000_000;
const bytes = { unit: 'bytes', least: 1024, most: 1_099_511_627_776 } as const;
const noLimit = { words: 'no limit' };

/** The most that a script adds up without losing a billionth. */
const money = { unit: 'money', least: 0.01, most: 1_000_000 } as const;
const reserved = 'Each response reserves as much as it may take, and is settled with what it took.';

export const tenantLimits = {
  requestsPerMinute: {
    wire: 'requests_per_minute',
    use: 'requests_in_minute',
    label: 'Requests per minute',
    short: 'Requests/min',
    unit: 'count',
    least: 1,
    most,
    description: 'Most responses created in any minute.',
    otherwise: noLimit,
  },
  tokensPerMinute: {
    wire: 'tokens_per_minute',
    use: 'tokens_in_minute',
    label: 'Tokens per minute',
    short: 'Tokens/min',
    unit: 'tokens',
    least: 1,
    most,
    description:
      'Most tokens in and out in any minute. Each response reserves as many as it may take, and is settled with what it took.',
    otherwise: noLimit,
  },
  tokensPerDay: {
    wire: 'tokens_per_day',
    use: 'tokens_in_day',
    label: 'Tokens per day',
    short: 'Tokens/day',
    unit: 'tokens',
    least: 1,
    most: 1_000_000_000_000,
    description: `Most tokens in and out of a day of UTC. ${reserved}`,
    otherwise: noLimit,
  },
  tokensPerMonth: {
    wire: 'tokens_per_month',
    use: 'tokens_in_month',
    label: 'Tokens per month',
    short: 'Tokens/month',
    unit: 'tokens',
    least: 1,
    most: 1_000_000_000_000,
    description: `Most tokens in and out of a calendar month of UTC. ${reserved}`,
    otherwise: noLimit,
  },
  spendPerDay: {
    wire: 'spend_per_day',
    use: 'spend_in_day',
    label: 'Spend per day',
    short: 'Spend/day',
    ...money,
    description: `Most that the responses of a day of UTC may cost by the prices of their models, in \`usage.currency\`. ${reserved}`,
    otherwise: noLimit,
  },
  spendPerMonth: {
    wire: 'spend_per_month',
    use: 'spend_in_month',
    label: 'Spend per month',
    short: 'Spend/month',
    ...money,
    description: `Most that the responses of a calendar month of UTC may cost by the prices of their models, in \`usage.currency\`. ${reserved}`,
    otherwise: noLimit,
  },
  concurrent: {
    wire: 'concurrent',
    use: 'running',
    label: 'Running at a time',
    short: 'Running',
    unit: 'count',
    least: 1,
    most,
    description: 'Most responses that run at a time, over all workers. Further ones wait, in their order.',
    otherwise: noLimit,
  },
  queued: {
    wire: 'queued',
    use: 'waiting',
    label: 'Waiting at a time',
    short: 'Waiting',
    unit: 'count',
    least: 1,
    most,
    description: 'Most responses that may wait at a time.',
    otherwise: { words: 'half of what may wait in the whole service', halfOf: 'queued' },
  },
  queuedBytes: {
    wire: 'queued_bytes',
    use: 'waiting_bytes',
    label: 'Bytes of what waits',
    short: 'Waiting bytes',
    ...bytes,
    description: 'Most bytes that the requests of its waiting responses may take together.',
    otherwise: { words: 'half of what may wait in the whole service', halfOf: 'queuedBytes' },
  },
  storedBytes: {
    wire: 'stored_bytes',
    use: 'stored_bytes',
    label: 'Bytes stored',
    short: 'Stored bytes',
    ...bytes,
    description:
      'Most bytes that its responses may take in Redis, from their accept until they are deleted or expire: requests, answers and event logs.',
    otherwise: { words: 'half of what Redis may hold by `limits.redisMemoryPercent`', halfOf: 'redisBytes' },
  },
  maxOutputTokens: {
    wire: 'max_output_tokens',
    use: null,
    label: 'Output tokens of a request',
    short: 'Max output',
    unit: 'tokens',
    least: 16,
    most,
    description:
      'Most tokens of output that a request may ask for, and the limit of a request that names none.',
    otherwise: { words: 'only the limit of the model holds' },
  },
  readsPerMinute: {
    wire: 'reads_per_minute',
    use: null,
    label: 'Reads per minute',
    short: 'Reads/min',
    unit: 'count',
    least: 1,
    most,
    description:
      'Most requests in any minute that create nothing: reads of responses, lists and streams, cancels, deletions, and creates whose Idempotency-Key has a response already. Each api counts its own.',
    // A thousand a second: a fraction of what an api can answer.
    otherwise: 60_000,
  },
  cells: {
    wire: 'cells',
    use: null,
    label: 'Cells of the store',
    short: 'Cells',
    unit: 'count',
    least: 1,
    most: 36,
    description:
      'Most cells of the store that its new responses are divided among, each of which has an equal part of its other limits. A tenant needs more than one only where it would fill a primary alone.',
    otherwise: 1,
  },
} as const satisfies Record<string, LimitRow>;

type Rows = typeof tenantLimits;
export type LimitName = keyof Rows;
export type LimitWireName = Rows[LimitName]['wire'];

/** The limits whose use is counted, and those uses. */
export type CountedLimit = { [Name in LimitName]: Rows[Name]['use'] extends null ? never : Name }[LimitName];
export type LimitUse = Rows[CountedLimit]['use'];

/** Uses that are known of every tenant, because none is without such a limit. The others are null without a limit. */
export type UseOfAll = {
  [Name in CountedLimit]: Rows[Name]['otherwise'] extends number | { halfOf: ServiceBound }
    ? Rows[Name]['use']
    : never;
}[CountedLimit];

/** Limits as some keys of a tenant say them; the others are left to its other keys. */
export type GivenLimits = { [Name in LimitName]?: number };

type ConstantLimits = {
  [Name in LimitName as Rows[Name]['otherwise'] extends number ? Name : never]: number;
};

/** The limits of a tenant as all of its keys say them. An absent one is a share of the service, or no limit. */
export type TenantLimits = GivenLimits & ConstantLimits;

export const limitNames = Object.keys(tenantLimits) as LimitName[]; // It has no other keys.

export const countedLimits = limitNames.filter(
  (name): name is CountedLimit => tenantLimits[name].use !== null,
);

/** The limits of a day or a month. A key may have some of its own. */
export const budgetNames = [
  'tokensPerDay',
  'tokensPerMonth',
  'spendPerDay',
  'spendPerMonth',
] as const satisfies LimitName[];
export type BudgetName = (typeof budgetNames)[number];

/** The limits of a tenant whose keys say nothing, those that are numbers. */
export const constantLimits = Object.fromEntries(
  limitNames
    .map((name) => [name, tenantLimits[name].otherwise])
    .filter(([, value]) => typeof value === 'number'),
) as ConstantLimits; // By the same rule.

/** Makes something of each limit. */
export function forEachLimit<T>(make: (row: LimitRow, name: LimitName) => T): Record<LimitName, T> {
  const made = limitNames.map((name) => [name, make(tenantLimits[name], name)]);
  return Object.fromEntries(made) as Record<LimitName, T>; // Each name is there.
}

/** The same by the names of the wire. */
export function forEachOnWire<T>(make: (name: LimitName) => T): Record<LimitWireName, T> {
  const made = limitNames.map((name) => [tenantLimits[name].wire, make(name)]);
  return Object.fromEntries(made) as Record<LimitWireName, T>; // The same.
}

/** Says what a limit bounds, and what holds without it where that is no number. */
export function describeLimit({ description, otherwise }: LimitRow): string {
  return typeof otherwise === 'number' ? description : `${description} Without it, ${otherwise.words}.`;
}
