import type { FieldName } from '../record/fields.ts';

/** How Lua reads a fact. One that may be absent has a `?`, and is an empty text then; a flag is 1 or 0. */
type FactType = 'text' | 'text?' | 'number' | 'number?' | 'flag';

/** The origin of a fact: the api that accepts, or the store, which makes it of the request, the limits or its process. */
type Source = 'api' | 'store';

function fact<const Type extends FactType, const From extends Source>(type: Type, from: From) {
  return { type, from };
}

/** Facts that the record keeps under the same name, as they are told. */
const keptFacts = {
  id: fact('text', 'api'),
  tenant: fact('text', 'api'),
  tier: fact('text', 'api'),
  queue: fact('text', 'api'),
  request_id: fact('text', 'api'),
  key: fact('text', 'api'),
  traceparent: fact('text?', 'api'),
  most_output: fact('number?', 'api'),
  price: fact('text?', 'api'),
  /** How long its caller may be away before the response is given up, in milliseconds. */
  grace_ms: fact('number?', 'api'),
  request: fact('text', 'store'),
  input: fact('text', 'store'),
  weight: fact('number', 'store'),
  stream: fact('flag', 'store'),
  stored: fact('flag', 'store'),
  background: fact('flag', 'store'),
  previous: fact('text?', 'store'),
  watchers: fact('text?', 'store'),
} satisfies Partial<Record<FieldName, { type: FactType; from: Source }>>;

/** Facts that decide about the accept, or that the script makes something else of. */
const decidingFacts = {
  /** The cost to its flow in the queue, in ticks; see `costOf` in admission. */
  cost: fact('number', 'api'),
  /** Longest wait in the queue, in milliseconds. */
  queue_ms: fact('number', 'api'),
  /** By when all of it is gone from the store at the latest, whatever its mode and whatever becomes of it, in milliseconds. */
  hold_ms: fact('number', 'api'),
  /** Most bytes of input and output, as JSON, that it may continue from. */
  most_context_bytes: fact('number', 'api'),
  /** Most responses that it may continue from. */
  most_context_turns: fact('number', 'api'),
  /** Latest time, by the store's clock in milliseconds, at which the accept may still happen. */
  deadline: fact('number', 'store'),
  /** The limits of the tenant and what it is expected to take of them; see `printLimits` in admission. */
  own_limits: fact('text', 'store'),
  /** Most that wait in all, in number and in bytes. */
  queued: fact('number', 'store'),
  queued_bytes: fact('number', 'store'),
  /** The digest of a body that came with an idempotency key, and how long the key stands for the response. */
  digest: fact('text?', 'store'),
  key_ms: fact('number?', 'store'),
  /** 1 to renew the expiry of what its tenant and its queue have beside the response; absent to leave it. */
  must_renew: fact('number?', 'store'),
  /** How many bytes of what went ahead of the accept are the request; absent when nothing did. */
  request_ahead: fact('number?', 'store'),
  /** How many entries the outbox has at most, which is told of budgets; absent when nobody reads it. */
  outbox_most: fact('number?', 'store'),
  /** Tool calls in the input, and the most of a list that is kept; see tool-calls.ts. */
  calls: fact('text', 'store'),
  calls_length: fact('number', 'store'),
};

/**
 * FACTS OF AN ACCEPT: all that its script is told, in the order of its arguments. A fact has one name here, in the script,
 * in the record that keeps it, and where the api tells it. A new one is an entry, and its value in the api or in accept.ts.
 */
const acceptFacts = { ...keptFacts, ...decidingFacts };

type Facts = typeof acceptFacts;
export type FactName = keyof Facts;

interface ValueOf {
  text: string;
  'text?': string | undefined;
  number: number;
  'number?': number | undefined;
  flag: boolean;
}

/** The facts that one of the two knows. */
export type FactsFrom<From extends Source> = {
  [Name in FactName as Facts[Name]['from'] extends From ? Name : never]: ValueOf[Facts[Name]['type']];
};

// The names of the tables above.
export const keptNames = Object.keys(keptFacts) as (keyof typeof keptFacts)[];
export const factNames = Object.keys(acceptFacts) as FactName[];
/** The numbers that the script calculates with. One that is kept stays the text that it was told as. */
export const numberNames = (Object.keys(decidingFacts) as (keyof typeof decidingFacts)[]).filter((name) =>
  decidingFacts[name].type.startsWith('number'),
);

/** The facts as arguments of the script. */
export function printFacts(facts: FactsFrom<Source>): Record<FactName, string | number> {
  const values: Record<FactName, string | number | boolean | undefined> = facts;
  const print = (value: string | number | boolean | undefined) =>
    typeof value === 'boolean' ? Number(value) : (value ?? '');
  // A value for each name of the table.
  return Object.fromEntries(factNames.map((name) => [name, print(values[name])])) as Record<
    FactName,
    string | number
  >;
}
