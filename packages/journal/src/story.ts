import type { AttemptReport, Phase, ResponseRow } from '@sluice/contract/admin';
import { attemptsOf } from './attempts.ts';
import { type IndexedRow, isOpenRow, printRow } from './indexed-row.ts';
import { type JournalLine, parseEntry } from './journal-line.ts';
import { phasesOf, type QueueSurroundings } from './phases.ts';
import type { RowTable } from './row-table.ts';

/** The story of one response, from the journal. */
export interface ResponseStory {
  row: ResponseRow;
  requestId: string | null;
  /** The response that an operator made this one from, and those that were made from it. */
  retryOf: string | null;
  retriedAs: string[];
  phases: Phase[];
  attempts: AttemptReport[];
  journal: { at: number; what: string; detail: string | null }[];
  /** Lines between its beginning and its end that were not kept, because there were too many. */
  leftOut: number;
}

/** Facts that a story needs besides the journal. */
export interface StoryFacts extends Pick<QueueSurroundings, 'position' | 'now'> {
  /** The models of the settings, and the queue of each. */
  models: readonly { id: string; queue: string }[];
  /** When a queue was paused; see `QueueSurroundings`. */
  pausesOf: (queue: string) => QueueSurroundings['pauses'];
}

/** Tells the story of a response; undefined for one that the index does not know. */
export function storyOf(table: RowTable, subject: string, facts: StoryFacts): ResponseStory | undefined {
  const row = table.get(subject);
  if (!row || row.acceptedAt === 0) return undefined;
  const lines = linesOf(row);
  const { acceptedAt, endedAt } = row;
  const { position, now } = facts;
  const queue = facts.models.find(({ id }) => id === row.model)?.queue;
  const inQueue = new Set(facts.models.filter((model) => model.queue === queue).map(({ id }) => id));
  const around: QueueSurroundings = {
    lastStart: (from, to) => lastStartOf(table, row, { models: inQueue, from, to }),
    pauses: queue === undefined ? [] : facts.pausesOf(queue),
    position,
    now,
  };
  const accepted = lines.find((line) => line.what === 'accepted');
  return {
    row: printRow(row),
    requestId: accepted?.requestId ?? null,
    retryOf: othersOf(lines, 'retry_of')[0] ?? null,
    retriedAs: othersOf(lines, 'retried_as'),
    phases: phasesOf(lines, { ...around, acceptedAt, endedAt, isOpen: isOpenRow(row) }),
    attempts: attemptsOf(lines),
    leftOut: row.leftOut,
    journal: lines.map(({ at, what, ...members }) => ({ at, what, detail: detailOf(members) })),
  };
}

function othersOf(lines: readonly JournalLine[], word: 'retry_of' | 'retried_as'): string[] {
  return lines.flatMap((line) => (line.what === word && 'other' in line ? [line.other] : []));
}

/** All lines about a response, in the order of the events. */
function linesOf({ entries }: IndexedRow): JournalLine[] {
  const lines = entries.flatMap((text) => parseEntry(text)?.lines ?? []);
  return lines.toSorted((one, other) => one.at - other.at || order(one) - order(other));
}

/** Sorts lines of the same millisecond: the accept comes first, and the end last. */
function order({ what }: JournalLine): number {
  return what === 'accepted' ? -1 : what === 'ended' ? 1 : 0;
}

function lastStartOf(
  table: RowTable,
  own: IndexedRow,
  { models, from, to }: { models: ReadonlySet<string>; from: number; to: number },
): number | undefined {
  let last: number | undefined;
  for (const { startedAt, model, subject } of table.sorted()) {
    if (startedAt === null || startedAt < from || startedAt >= to || subject === own.subject) continue;
    if (models.has(model) && (last === undefined || startedAt > last)) last = startedAt;
  }
  return last;
}

/** Members that tell a person nothing, or that repeat the row. */
const unsaid: ReadonlySet<string> = new Set([
  'digests',
  'tenant',
  'model',
  'tier',
  'mode',
  'acceptedAt',
  'host',
  'pid',
]);

/** The members of a line as a person reads them. A worker is named as the overview names it, where the line says how. */
function detailOf({ ...members }: Record<string, unknown>): string | null {
  const { host, pid } = members;
  if (typeof host === 'string' && typeof pid === 'number') members['worker'] = `${host} (process ${pid})`;
  const said = Object.entries(members).filter(
    ([name, value]) => value !== undefined && value !== false && value !== '' && !unsaid.has(name),
  );
  return said.length === 0 ? null : said.map(([name, value]) => phrase(name, value)).join(', ');
}

function phrase(name: string, value: unknown): string {
  if (name === 'isInLine') return 'waits in the line of its tenant, of whom as many run as may';
  if (name === 'other') return String(value);
  if (name === 'isPaused') return 'the queue was paused';
  if (name === 'delayMs' || name === 'afterMs') return `after ${String(value)} ms`;
  return `${words(name)} ${String(value)}`;
}

/** `upstreamStatus` reads `upstream status`. */
function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
