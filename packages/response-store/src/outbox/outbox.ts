import {
  money,
  statuses,
  type Status,
  type WebhookEvent,
  type WebhookEventType,
  webhookEventTypes,
} from '@sluice/contract';
import { budgetNames, tenantLimits } from '@sluice/contract/tenant-limits';
import type { RedisCommands } from '../record/connection.ts';
import type { CellKeys } from '../record/keys.ts';
import type { Redis } from 'ioredis';
import { defineScript } from '../script/define-script.ts';
import type { OutboxWriting } from '../record/store-access.ts';
import type { ToldEnd } from './told-end.ts';

const takeScript = defineScript({
  by: 'rescue',
  file: new URL('../../src/outbox/take-ends.lua', import.meta.url),
  keys: ['outbox', 'lease', 'given'],
  args: ['reader', 'readers', 'process', 'lease_ms', 'count', 'forget_ms'],
  numbers: ['lease_ms', 'count', 'forget_ms'],
});

/**
 * After so many milliseconds a reader that was switched off is forgotten. Nothing goes before it has had it until then, and one that is
 * switched on again goes on where it was.
 */
const forgetMs = 24 * 60 * 60_000;

/** The end of a response, as those learn of it who tell of it later. Times are milliseconds of the store's clock. */
export interface EndFact extends ToldEnd {
  id: string;
  status: Status;
  tenant: string;
  tier: string;
  /** The API key that created it, by the first characters of its digest; empty when the record does not say. */
  key: string;
  background: boolean;
  acceptedAt: number;
  /** Undefined when it never ran. */
  startedAt: number | undefined;
  endedAt: number;
  /** The cost of its tokens, in billionths of the currency; undefined without a price, or where nobody counted. */
  spend: number | undefined;
}

/** Something else that is told of a tenant. */
export interface Happening {
  type: 'budget.warning' | BatchEventType;
  /** The same each time that it is told, and of nothing else. */
  id: string;
  tenant: string;
  /** Milliseconds of the store's clock. */
  at: number;
  /** The data of the event that an endpoint is sent. */
  data: WebhookEvent['data'];
}

export type BatchEventType = Extract<WebhookEventType, `batch.${string}`>;

/** An entry of the outbox; it has neither when this release cannot read it, and when it went before it was told. */
export interface OutboxEntry {
  id: string;
  fact: EndFact | undefined;
  happening?: Happening | undefined;
}

export interface TakenEnds {
  entries: readonly OutboxEntry[];
  /** Ends that went before this reader had them, because too many waited. */
  lost: number;
  /** Whether these are as many as a call returns, so that more may be there. */
  isFull: boolean;
}

export interface OutboxReaderOptions {
  redis: RedisCommands;
  keys: CellKeys;
  /** Its name. Each reader is given every end, and has told some of them. */
  reader: string;
  /** All that are to be told, this one among them: nothing goes before each of them has had it. */
  readers: readonly string[];
  /** The process that reads, by a name of its own. */
  process: string;
  /** How long the process reads alone after each call, in milliseconds. */
  leaseMs: number;
  /** Most ends of a call. */
  count: number;
  /** After how many milliseconds a reader that is not to be told any more is forgotten; by default a day. */
  forgetMs?: number;
}

/**
 * The outbox: a Redis stream in which the script of an end writes what it has ended, in the same step: every
 * end, or those in the background, as the readers need them. So an end that is written is told, whatever dies, and one that is not is never told.
 *
 * Each reader is given every end at least once, in the order in which they were written: what it has not noted as told comes again, also
 * to the process that reads for it next. What all readers have told goes; when too much waits, the oldest goes and is counted as lost.
 */
export class OutboxReader {
  readonly #options: OutboxReaderOptions;

  constructor(options: OutboxReaderOptions) {
    this.#options = options;
  }

  /**
   * Notes what was told, by the ids of entries, and returns the next ends; undefined while another process reads. A call that is repeated
   * after a lost reply returns the same again.
   */
  async take(told: readonly string[]): Promise<TakenEnds | undefined> {
    const {
      redis,
      keys,
      reader,
      readers,
      process,
      leaseMs,
      count,
      forgetMs: forgottenMs = forgetMs,
    } = this.#options;
    const reply = await takeScript(redis, {
      keys: { outbox: keys.outbox, lease: keys.outboxLease(reader), given: keys.outboxGiven(reader) },
      args: { reader, readers: readers.join(' '), process, lease_ms: leaseMs, count, forget_ms: forgottenMs },
      moreKeys: readers.map((each) => keys.outboxGiven(each)),
      moreArgs: told,
    });
    // By the script.
    const [isReading, lost = 0, entries = []] = reply as [0 | 1, number?, [string, string[] | null][]?];
    if (isReading === 0) return undefined;
    return {
      lost,
      isFull: entries.length >= count,
      entries: entries.map(([id, pairs]) => parseEntry(id, pairs ?? [])),
    };
  }
}

type Text = (name: string) => string;

function parseEntry(id: string, pairs: readonly string[]): OutboxEntry {
  const found = new Map<string, string>();
  for (let at = 0; at + 1 < pairs.length; at += 2) found.set(pairs[at] ?? '', pairs[at + 1] ?? '');
  const text: Text = (name) => found.get(name) ?? '';
  return found.has('event')
    ? { id, fact: undefined, happening: parseHappening(text) }
    : { id, fact: parseFact(text) };
}

function parseHappening(text: Text): Happening | undefined {
  const [event, tenant, at] = [text('event'), text('tenant'), Number(text('at'))];
  const type = batchEventTypes.find((each) => each === event);
  if (type) return { type, id: text('id'), tenant, at, data: { id: text('id') } };
  const budget = budgetNames.find((name) => tenantLimits[name].wire === text('budget'));
  if (event !== 'budget.warning' || !budget) return undefined;
  const amount = (name: string) =>
    tenantLimits[budget].unit === 'money' ? money.fromStored(Number(text(name))) : Number(text(name));
  const key = text('key') || null;
  return {
    type: event,
    id: [tenant, key, text('budget'), text('limit'), text('period')].join(' '),
    tenant,
    at,
    data: { id: text('budget'), api_key_id: key, limit: amount('limit'), used: amount('used') },
  };
}

const batchEventTypes = webhookEventTypes.filter((type): type is BatchEventType => type.startsWith('batch.'));

function parseFact(text: Text): EndFact | undefined {
  const status = statuses.find((each) => each === text('status'));
  if (status === undefined || text('id') === '') return undefined;
  try {
    return {
      ...(JSON.parse(text('told')) as ToldEnd), // `printTold` wrote it
      id: text('id'),
      status,
      tenant: text('tenant'),
      tier: text('tier'),
      key: text('key'),
      background: text('background') === '1',
      acceptedAt: Number(text('accepted')),
      startedAt: text('started') === '' ? undefined : Number(text('started')),
      endedAt: Number(text('ended')),
      spend: text('spend') === '' ? undefined : Number(text('spend')),
    };
  } catch {
    return undefined;
  }
}

/** Tells of the end of a batch, at least once: its readers know it by its id. */
export async function tellOfBatch(
  redis: Pick<Redis, 'xadd'>,
  { outbox }: Pick<CellKeys, 'outbox'>,
  { most }: OutboxWriting,
  { type, id, tenant, at }: { type: BatchEventType; id: string; tenant: string; at: number },
): Promise<void> {
  const entry = ['event', type, 'id', id, 'tenant', tenant, 'at', at];
  await redis.xadd(outbox, 'MAXLEN', '~', most, '*', ...entry);
}
