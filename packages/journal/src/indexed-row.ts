import { isTerminal, type Status } from '@sluice/contract';
import type { Mode, ResponseRow } from '@sluice/contract/admin';
import type { JournalEntry, JournalLine } from './journal-line.ts';
import { responseOfSubject } from './journal-line.ts';
import type { RowShape, ShapedFields } from './row-shapes.ts';

/** A response in the index: what its lines have said so far, in whatever order they came. */
export interface IndexedRow extends ShapedFields {
  /** Its id without the prefix. */
  subject: string;
  /** 0 as long as nobody has said who it is. */
  acceptedAt: number;
  startedAt: number | null;
  /** In the attempt `outputAttempt`, the last one that is known. */
  firstOutputAt: number | null;
  outputAttempt: number;
  endedAt: number | null;
  attempts: number;
  inputTokens: number | null;
  outputTokens: number | null;
  digests: string;
  /** Of the request that created it; empty as long as its accept is not known. */
  requestId: string;
  /** What it has in common with others; undefined before it is in a table. */
  shape: RowShape | undefined;
  /** The entries that spoke of it, as they stand in the stream, in the order in which they were read. */
  entries: string[];
}

/** Entries of one row that are kept: how it began, and how it ended. */
const mostEntries = { first: 8, last: 56 };

export function newRow(subject: string): IndexedRow {
  return {
    subject,
    acceptedAt: 0,
    tenant: '',
    model: '',
    tier: 'default',
    mode: 'whole',
    status: 'queued',
    code: null,
    startedAt: null,
    firstOutputAt: null,
    outputAttempt: 0,
    endedAt: null,
    attempts: 0,
    inputTokens: null,
    outputTokens: null,
    digests: '',
    requestId: '',
    shape: undefined,
    entries: [],
  };
}

export function isOpenRow({ status }: IndexedRow): boolean {
  return !isTerminal(status);
}

/**
 * Takes what an entry says into a row. Entries of two processes may stand in the stream in another order than what they tell
 * happened, and an index reads the newest first, so every order comes to the same row.
 */
export function takeEntry(row: IndexedRow, { lines }: JournalEntry, text: string): void {
  for (const line of lines) takeLine(row, line);
  row.entries.push(text);
  if (row.entries.length > mostEntries.first + mostEntries.last) row.entries.splice(mostEntries.first, 1);
}

function takeLine(row: IndexedRow, line: JournalLine): void {
  switch (line.what) {
    case 'accepted':
      takeIdentity(row, line, line.at);
      row.digests = line.digests;
      row.requestId = line.requestId;
      return;
    case 'claimed':
      takeIdentity(row, line, line.acceptedAt);
      if (row.status === 'queued') row.status = 'in_progress';
      row.startedAt = Math.min(row.startedAt ?? line.at, line.at);
      row.attempts = Math.max(row.attempts, line.attempt);
      if (line.attempt > row.outputAttempt) {
        row.outputAttempt = line.attempt;
        row.firstOutputAt = null;
      }
      return;
    case 'first_output':
      if (line.attempt < row.outputAttempt) return;
      row.outputAttempt = line.attempt;
      row.firstOutputAt = line.at;
      return;
    case 'ended':
      // Two that ended it at once have both said so. The first of them counts.
      if (row.endedAt !== null && row.endedAt <= line.at) return;
      if (!isStatus(line.status)) return;
      row.status = line.status;
      row.code = line.code ?? null;
      row.endedAt = line.at;
      row.attempts = Math.max(row.attempts, line.attempt);
      row.inputTokens = line.inputTokens ?? null;
      row.outputTokens = line.outputTokens ?? null;
      return;
    default:
  }
}

function takeIdentity(
  row: IndexedRow,
  { tenant, model, tier, mode }: { tenant: string; model: string; tier: string; mode: string },
  acceptedAt: number,
): void {
  row.tenant = tenant;
  row.model = model;
  row.tier = tier;
  row.mode = mode;
  row.acceptedAt = acceptedAt;
}

const ends: readonly string[] = ['completed', 'incomplete', 'failed', 'cancelled'] satisfies Status[];

/** Of an end that another release wrote, too. */
function isStatus(text: string): text is Status {
  return ends.includes(text);
}

/** The row as the console sees it. */
export function printRow(row: IndexedRow): ResponseRow {
  return {
    id: responseOfSubject(row.subject),
    tenant: row.tenant,
    model: row.model,
    // Every process writes tiers and modes of the contract.
    tier: row.tier as ResponseRow['tier'],
    mode: row.mode as Mode,
    status: row.status,
    error_code: row.code,
    accepted_at: row.acceptedAt,
    started_at: row.startedAt,
    first_output_at: row.firstOutputAt,
    ended_at: row.endedAt,
    attempts: row.attempts,
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
  };
}
