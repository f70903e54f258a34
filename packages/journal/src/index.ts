export { attemptsOf } from './attempts.ts';
export { type IndexedRow, isOpenRow, newRow, printRow, takeEntry } from './indexed-row.ts';
export {
  type JournalEntry,
  type JournalLine,
  parseEntry,
  printEntry,
  queueOfSubject,
  responseOfSubject,
  subjectOfQueue,
  subjectOfResponse,
} from './journal-line.ts';
export { JournalReader, type StoredEntry } from './journal-reader.ts';
export { journalKey, JournalWriter, type JournalWriterOptions } from './journal-writer.ts';
export { keepJournal, openJournal } from './keep-journal.ts';
export { digestOfPair, digestsOf } from './metadata-digests.ts';
export { phasesOf, type QueueSurroundings } from './phases.ts';
export {
  countRows,
  facetsOf,
  listRows,
  parseCursor,
  type RowCursor,
  type RowPage,
  subjectsOf,
} from './query-rows.ts';
export { queuedEndFact } from './queued-end.ts';
export { rowFilter, type RowFilter } from './row-filter.ts';
export { bytesPerRow, type RowBefore, RowTable } from './row-table.ts';
export { type ResponseStory, storyOf, type StoryFacts } from './story.ts';
