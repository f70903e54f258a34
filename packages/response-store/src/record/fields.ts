import { type Status } from '@sluice/contract';

/** The type of a field, by which Lua and TypeScript read it. An absent field is nil there and undefined here. */
type FieldType = 'text' | 'number' | 'flag' | 'status';

/**
 * A writer of records: the accept, which makes one; a caller, through its api process; the holder of the right to write,
 * which is an attempt or the step that ends a response in its place; and the rescue.
 */
export type Writer = 'accept' | 'caller' | 'attempt' | 'rescue';

/** `writers` may write, change or clear the field, by the scripts that say so. Loading any other script that does fails. */
function field<const Type extends FieldType>(type: Type, ...writers: Writer[]) {
  return { type, writers };
}

/**
 * FIELD TABLE: every field of a response's record, a Redis hash.
 *
 * The scripts reach fields by these names alone (`script/expand-fields.ts`), and TypeScript reads them with the types
 * that stand here. Times are milliseconds of the store's clock. A new field is one entry and the script that writes it.
 */
export const recordFields = {
  /** The release of the table that wrote the record. */
  version: field('text', 'accept'),
  id: field('text', 'accept'),
  tenant: field('text', 'accept'),
  status: field('status', 'accept', 'attempt'),
  /** The tier in use, which is not always the one that was asked for. */
  tier: field('text', 'accept'),
  /** The BullMQ queue of the response. */
  queue: field('text', 'accept'),
  /** The request without its input, as JSON; its short members alone when the whole of it is in the large value. */
  request: field('text', 'accept'),
  /** The input as JSON; empty when it is in the large value. */
  input: field('text', 'accept'),
  /** How long the large value is, in bytes: a key of its own for what is too large for a script. Absent without one. */
  large_bytes: field('number', 'accept'),
  /** How many bytes of the request's JSON begin the large value. The rest of it is the input. */
  request_ahead: field('number', 'accept'),
  /** Id of the response that this one continues from; empty for none. */
  previous: field('text', 'accept'),
  /** Bytes of input and end of this response and of all that it continues from. */
  context_bytes: field('number', 'attempt'),
  /** How long an end is that is too large for a script and has a key of its own; absent for any other. */
  end_bytes: field('number', 'attempt'),
  /** Bytes of all that goes into it: its input, and what it continues from. Its end makes `context_bytes` of them. */
  asked_bytes: field('number', 'accept'),
  /** Tokens of it, as the upstream counted them, or about as many. */
  context_tokens: field('number', 'attempt'),
  /** How many responses that is. */
  context_turns: field('number', 'accept'),
  /** Tool calls in all of it, as `printCalls` made them; the latest `mostCalls`. */
  context_calls: field('text', 'accept', 'attempt'),
  /** The server that ran it, by its key among those of all providers; absent where its provider has one. */
  server: field('text', 'attempt'),
  /** The API key of the create call, by the first characters of its digest; absent in records of older releases. */
  key: field('text', 'accept'),
  /** Id of the create call, for messages and the log. */
  request_id: field('text', 'accept'),
  /** Where its request stands in a trace, as W3C Trace Context prints it; absent while traces are off. */
  traceparent: field('text', 'accept'),
  /** The place it takes in the counts of waiting responses; see `weightOf` in admission. */
  weight: field('number', 'accept'),
  /** Its start tag, by which it has its place among the others of its queue; absent while it waits outside of it. */
  tag: field('number', 'accept', 'caller', 'attempt', 'rescue'),
  /** The cost to its flow of going into the queue, in ticks. */
  cost: field('number', 'accept'),
  /** Its turn among the responses of a tenant that may only run so many at a time; absent without such a limit. */
  turn: field('number', 'accept'),
  /** Tokens that are reserved for it; absent without a limit of tokens. */
  tokens: field('number', 'accept'),
  /** About how many tokens go into it, with what it continues from; absent in records of older releases. No script reads it. */
  input_tokens: field('number', 'accept'),
  /** The price of its tokens, as billionths of the currency for one of each kind; absent without a price. See budgets.lua in admission. */
  price: field('text', 'accept'),
  /** The amounts that are reserved for it in budgets, and in which; absent without one. See budgets.lua in admission. */
  reserved: field('text', 'accept'),
  /** Most tokens of output, where neither the request nor its model says less. */
  most_output: field('number', 'accept'),
  /** Whether every event is logged; otherwise only the life cycle is known until the end. */
  stream: field('flag', 'accept'),
  stored: field('flag', 'accept'),
  background: field('flag', 'accept'),
  /** Key of the Idempotency-Key that stands for the response. */
  idempotency: field('text', 'accept'),
  accepted_at: field('number', 'accept'),
  /** When it has waited in the queue for as long as it may. */
  queue_by: field('number', 'accept'),
  /** Set once the job of a background response is known to have been added. */
  enqueued: field('flag', 'caller'),
  /** Leases of the api processes with somebody attached, joined by spaces. */
  watchers: field('text', 'accept', 'caller'),
  /** Set when somebody attached after the accept, so that the start is announced and a refusal takes nothing back. */
  followed: field('flag', 'caller'),
  /** How long the response goes on without a caller. */
  grace_ms: field('number', 'accept', 'caller'),
  /** When it was first found without a caller. */
  left_at: field('number', 'caller', 'attempt', 'rescue'),
  /** Why somebody asked for the end; the first reason stays. */
  cancel: field('text', 'caller', 'attempt'),
  /** The right to write. The holder of an older one writes nothing. */
  token: field('text', 'attempt'),
  /** Lease and channel of the worker process that holds the token. */
  worker: field('text', 'attempt'),
  /** Channel of the worker process that gave it back for a while. It ends the response when nobody holds it by then. */
  postponed_by: field('text', 'attempt'),
  /** Runs so far, without those that died with their process. */
  attempt: field('number', 'attempt'),
  /** How often a worker that stopped has handed it over. */
  hand_overs: field('number', 'attempt'),
  /** How often an upstream limited it, but for the times when it answered nobody else either; absent for never. */
  limited: field('number', 'attempt'),
  /** When that was last. */
  limited_at: field('number', 'attempt'),
  /** The token whose run was counted last, so that a repeated claim counts once. */
  counted: field('text', 'attempt'),
  /** Runs that died with their process; one that died alone counts for all that there may be. */
  losses: field('number', 'attempt'),
  started_at: field('number', 'attempt'),
  /** When all attempts together have had the time they may have. */
  run_by: field('number', 'attempt'),
  /** The beginning of the token with whose claim that time began. */
  begun_by: field('text', 'attempt'),
  /** Set when an attempt was given back whose output a reader may have seen, whatever the log has of it. */
  shown: field('flag', 'attempt'),
  /** Its long events, as `<token>:<sequence number>`, joined by spaces; absent without any. See long-events.lua. */
  long_events: field('text', 'attempt'),
  /** How long the events in its log are, in bytes of JSON, as far as attempts have appended them. */
  log_bytes: field('number', 'attempt'),
  /** The bytes that count for its tenant, as parts; see held-bytes.lua in admission. */
  held: field('text', 'accept', 'attempt'),
  /** The last sequence number. */
  seq: field('number', 'accept', 'attempt'),
  /** The end as JSON; see `EndOfResponse`. */
  result: field('text', 'attempt'),
};

export type FieldName = keyof typeof recordFields;

/** All fields that a writer may write. */
export function fieldsBy(writer: Writer): FieldName[] {
  // The names of the table.
  const names = Object.keys(recordFields) as FieldName[];
  return names.filter((name) => recordFields[name].writers.includes(writer));
}

/**
 * The fields that the accept writes and nothing changes, in their order in one value of the hash. Line breaks join them, and
 * none of them holds one. An empty one is absent. A field of its own would cost a waiting response some seventy bytes.
 */
export const factFields = [
  'version',
  'id',
  'tenant',
  'tier',
  'queue',
  'request_id',
  'weight',
  'accepted_at',
  'queue_by',
  'stream',
  'stored',
  'background',
  'previous',
  'context_turns',
  'asked_bytes',
  'large_bytes',
  'request_ahead',
  'idempotency',
  'turn',
  'cost',
  'tokens',
  'most_output',
  'key',
  'price',
  'reserved',
  'input_tokens',
] satisfies FieldName[];

/** The field of the hash that has them. */
export const facts = 'facts';

/** Where a field stands among the facts; undefined for one that is a field of the hash. */
export function placeInFacts(name: FieldName): number | undefined {
  return places.get(name);
}

const places: ReadonlyMap<FieldName, number> = new Map(factFields.map((name, at) => [name, at]));

/** The names that HMGET is given to read these fields, as `parseFields` takes its reply: the facts first, if any is asked for. */
export function storedNames(names: readonly FieldName[]): string[] {
  const own = names.filter((name) => placeInFacts(name) === undefined);
  return own.length === names.length ? own : [facts, ...own];
}

interface ValueOf {
  text: string;
  number: number;
  flag: boolean;
  status: Status;
}

/** The fields of a record as TypeScript sees them. */
export type RecordFields = {
  [Name in FieldName]: ValueOf[(typeof recordFields)[Name]['type']] | undefined;
};

/** Raised when the meaning of a field changes; a record of another version is left to workers that know it. */
export const recordVersion = '3';

/** Reads what HMGET answered for the `storedNames` of `names`. */
export function parseFields<Name extends FieldName>(
  names: readonly Name[],
  values: readonly (string | null | undefined)[],
): Pick<RecordFields, Name> {
  const fields: Partial<Record<FieldName, string | number | boolean>> = {};
  const hasFacts = names.some((name) => placeInFacts(name) !== undefined);
  const known = hasFacts ? (values[0]?.split('\n') ?? []) : [];
  let at = hasFacts ? 1 : 0;
  for (const name of names) {
    const place = placeInFacts(name);
    const value = place === undefined ? values[at++] : known[place] || undefined;
    if (value !== null && value !== undefined) fields[name] = parseValue(recordFields[name].type, value);
  }
  // Each value was parsed by the type that the table gives its name.
  return fields as Pick<RecordFields, Name>;
}

function parseValue(type: FieldType, value: string): string | number | boolean {
  switch (type) {
    case 'number':
      return Number(value);
    case 'flag':
      return value === '1';
    case 'text':
    case 'status':
      return value;
  }
}
