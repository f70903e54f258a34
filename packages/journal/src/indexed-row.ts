import { isTerminal, type Status } from '@sluice/contract';
import type { Mode, ResponseRow } from '@sluice/contract/admin';
import {
  type JournalEntry,
  type JournalLine,
  parseEntry,
  printEntry,
  responseOfSubject,
} from './journal-line.ts';
import type { RowShape, ShapedFields } from './row-shapes.ts';

/** A response in the index: the facts of its lines so far, which may come in any order. */
export interface IndexedRow extends ShapedFields {
  /** Its id without the prefix. */
  subject: string;
  /** 0 until a line says when, and who it is. */
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
  /** Id of the request that created it; empty while its accept is not known. */
  requestId: string;
  /** The fields that it shares with other rows; undefined before it is in a table. */
  shape: RowShape | undefined;
  /** Its entries as they stand in the stream, in the order in which they were read. */
  entries: string[];
  /** Approximate memory of those, in bytes. */
  bytes: number;
  /** Lines that were not kept, because there were too many. */
  leftOut: number;
}

/** Entries of one row that are kept: those that were read first, and those that were read last. */
const mostEntries = { first: 8, last: 56 };

/** Most bytes of the entries of one row, and of one entry. A response can have any number of failed attempts. */
const mostBytes = 8_192;
const mostEntryBytes = 4_096;

/** Memory of a string besides its characters, in bytes. */
const stringBytes = 32;

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
    bytes: 0,
    leftOut: 0,
  };
}

export function isOpenRow({ status }: IndexedRow): boolean {
  return !isTerminal(status);
}

/**
 * Adds the facts of an entry to a row. Entries of two processes may be out of order in the stream, and an index reads the
 * newest first, so every order gives the same row.
 */
export function takeEntry(row: IndexedRow, entry: JournalEntry, text: string): void {
  for (const line of entry.lines) takeLine(row, line);
  const kept = bytesOf(text) > mostEntryBytes ? shortened(entry) : { text, leftOut: 0 };
  row.entries.push(kept.text);
  row.bytes += bytesOf(kept.text);
  row.leftOut += kept.leftOut;
  while (row.entries.length > mostEntries.first + mostEntries.last || row.bytes > mostBytes) {
    const [dropped] = row.entries.splice(Math.min(mostEntries.first, row.entries.length >> 1), 1);
    if (dropped === undefined) return;
    row.bytes -= bytesOf(dropped);
    row.leftOut += parseEntry(dropped)?.lines.length ?? 0;
  }
}

/** The first and the last lines of an entry, as many as fit into its bytes. */
function shortened({ subject, lines }: JournalEntry): { text: string; leftOut: number } {
  for (let count = lines.length >> 1; ; count >>= 1) {
    const kept = count === 0 ? [] : [...lines.slice(0, count), ...lines.slice(-count)];
    const text = printEntry({ subject, lines: kept });
    if (count === 0 || bytesOf(text) <= mostEntryBytes) return { text, leftOut: lines.length - kept.length };
  }
}

/** V8 keeps a text in one byte for each character as long as all of them are Latin. */
function bytesOf(text: string): number {
  return stringBytes + text.length * (/[^\u0000-\u00ff]/.test(text) ? 2 : 1);
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
      // Two processes that ended it at once have both written an end. The first one counts.
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

/** Recognizes the status of an end, also one that another release wrote. */
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
