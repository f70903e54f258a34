import { responseIdPrefix } from '@sluice/contract';

/**
 * LINE TABLE: every kind of line about a response, with its short word in the stream and its members in order. A line in the
 * stream is an array: the time by the store's clock in milliseconds, the word, and the members.
 *
 * A new member goes behind the others, and is undefined in a line of an older release. A release skips words that it does
 * not know.
 */
const lineTable = {
  /** Accepted, and its job added. `digests` are those of its metadata. */
  accepted: {
    word: 'a',
    members: ['tenant', 'model', 'tier', 'mode', 'requestId', 'isInLine', 'digests'],
  },
  let_in: { word: 'l', members: [] },
  crowded: { word: 'w', members: [] },
  taken_back: { word: 'x', members: [] },
  /** Repeats what the response is, because the api that accepted it may have died before it wrote a line. */
  claimed: {
    word: 'c',
    members: ['attempt', 'worker', 'tenant', 'model', 'tier', 'mode', 'acceptedAt', 'host', 'pid'],
  },
  blocked: { word: 'h', members: ['attempt', 'because'] },
  called: { word: 'u', members: ['attempt', 'provider', 'upstreamModel'] },
  first_output: { word: 'f', members: ['attempt'] },
  failed: { word: 'e', members: ['attempt', 'provider', 'code', 'upstreamStatus', 'reason'] },
  retried: { word: 'r', members: ['attempt', 'code', 'delayMs'] },
  postponed: { word: 'p', members: ['attempt', 'because', 'afterMs'] },
  given_back: { word: 'b', members: ['attempt'] },
  given_up: { word: 'g', members: ['attempt'] },
  superseded: { word: 's', members: ['attempt'] },
  end_refused: { word: 'n', members: ['attempt', 'status', 'result'] },
  ended: {
    word: 'd',
    members: ['attempt', 'status', 'code', 'because', 'inputTokens', 'outputTokens'],
  },
  /** An operator made another response of its request. The second line is about that response; `other` is the id of the first. */
  retried_as: { word: 'k', members: ['other'] },
  retry_of: { word: 'o', members: ['other'] },
  /** A line about a queue, not about a response. */
  paused: { word: 'q', members: ['isPaused'] },
} as const satisfies Record<string, { word: string; members: readonly Member[] }>;

/** The kind of each member. A flag is 0 or 1 in the stream. */
const memberKinds = {
  tenant: 'text',
  model: 'text',
  tier: 'text',
  mode: 'text',
  requestId: 'text',
  isInLine: 'flag',
  digests: 'text',
  attempt: 'number',
  worker: 'text',
  acceptedAt: 'number',
  host: 'text',
  pid: 'number',
  because: 'text',
  provider: 'text',
  upstreamModel: 'text',
  code: 'text',
  upstreamStatus: 'number',
  reason: 'text',
  delayMs: 'number',
  afterMs: 'number',
  status: 'text',
  result: 'text',
  inputTokens: 'number',
  outputTokens: 'number',
  other: 'text',
  isPaused: 'flag',
} as const;
type Member = keyof typeof memberKinds;
type TypeOf<Name extends Member> = {
  text: string;
  number: number;
  flag: boolean;
}[(typeof memberKinds)[Name]];

/** Members that a line may lack although this release writes them. */
const absent = [
  'host',
  'pid',
  'provider',
  'code',
  'because',
  'upstreamStatus',
  'reason',
  'inputTokens',
  'outputTokens',
] as const satisfies Member[];
const mayLack: ReadonlySet<Member> = new Set(absent);

type LineTable = typeof lineTable;
export type LineWord = keyof LineTable;
type MembersOf<What extends LineWord> = LineTable[What]['members'][number];

/** One thing that happened to a response. `at` is of the store's clock, in milliseconds. */
export type JournalLine = {
  [What in LineWord]: { what: What; at: number } & {
    [Name in MembersOf<What>]: TypeOf<Name> | (Name extends (typeof absent)[number] ? undefined : never);
  };
}[LineWord];

/** The lines that one process writes at once about one response, or about a queue. */
export interface JournalEntry {
  /** The id of a response without its prefix, or `queue:` and the name of a queue. */
  subject: string;
  lines: JournalLine[];
}

/** Texts from outside are cut at this length; ids, tenants and models are shorter anyway. */
const longestText = 256;

const beforeQueue = 'queue:';

export function subjectOfQueue(queue: string): string {
  return beforeQueue + queue.slice(0, longestText);
}

/** The queue that an entry is about; undefined for a response. */
export function queueOfSubject(subject: string): string | undefined {
  return subject.startsWith(beforeQueue) ? subject.slice(beforeQueue.length) : undefined;
}

export function subjectOfResponse(responseId: string): string {
  return responseId.startsWith(responseIdPrefix) ? responseId.slice(responseIdPrefix.length) : responseId;
}

export function responseOfSubject(subject: string): string {
  return responseIdPrefix + subject;
}

export function printEntry({ subject, lines }: JournalEntry): string {
  return JSON.stringify([subject, ...lines.map(printLine)]);
}

/** An entry of the stream; undefined for one that this release cannot read. Lines that it cannot read are left out. */
export function parseEntry(text: string): JournalEntry | undefined {
  const parsed = parseArray(text);
  const [subject, ...lines] = parsed ?? [];
  if (typeof subject !== 'string' || subject === '') return undefined;
  return { subject, lines: lines.flatMap((line) => parseLine(line) ?? []) };
}

function printLine({ at, what, ...members }: JournalLine): unknown[] {
  const { word, members: names } = lineTable[what];
  // A line has the members of its row, and `undefined` for those that are absent.
  const values = (names as readonly Member[]).map((name) => Reflect.get(members, name) as unknown);
  while (values.length > 0 && values.at(-1) === undefined) values.pop();
  return [at, word, ...values.map(printValue)];
}

function printValue(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, longestText);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value;
}

const byWord = new Map(
  (Object.keys(lineTable) as LineWord[]).map((what) => [lineTable[what].word as string, what]), // its own keys
);

function parseLine(line: unknown): JournalLine | undefined {
  if (!Array.isArray(line)) return undefined;
  const [at, word, ...values] = line as unknown[];
  const what = typeof word === 'string' ? byWord.get(word) : undefined;
  if (what === undefined || typeof at !== 'number') return undefined;
  const parsed: Record<string, unknown> = { what, at };
  for (const [index, name] of (lineTable[what].members as readonly Member[]).entries()) {
    const value = readValue(name, values[index]);
    if (value === undefined && !mayLack.has(name)) return undefined;
    parsed[name] = value;
  }
  // Each member was held to its type.
  return parsed as unknown as JournalLine;
}

function readValue(name: Member, value: unknown): unknown {
  if (memberKinds[name] === 'flag') return value === 1;
  if (memberKinds[name] === 'number') return typeof value === 'number' ? value : undefined;
  if (name === 'digests') return typeof value === 'string' ? value : '';
  return typeof value === 'string' ? value : undefined;
}

function parseArray(text: string): unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
