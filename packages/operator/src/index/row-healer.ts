import { isTerminal, modeOf } from '@sluice/contract';
import type { IndexedRow, RowTable } from '@sluice/journal';
import { digestsOf, responseOfSubject, subjectOfResponse } from '@sluice/journal';
import { type Cell, cellOf, type ResponseStores, type ResponseSummary } from '@sluice/response-store';

/** Ids that one round asks the store for, of each kind. The next round goes on behind them. */
const mostIds = 2_000;

/** Records that one round reads. */
const mostRecords = 200;

/** Records read at once. */
const batchSize = 20;

/** The code in a row whose response has no record any more and whose end is not in the journal. */
export const unknownEnd = 'end_unknown';

/** The store as it is healed from. */
export type Healed = Pick<ResponseStores, 'keys' | 'openIds' | 'areOpen' | 'readSummary'>;

/**
 * Mends rows whose last lines never reached the journal, because a process died before it wrote them, or the store was silent. It
 * compares the open rows with the store's set of open responses:
 *
 * - a row that claims to be open, of a response that is not: its end is read from the record. When the record is gone as well,
 *   nobody can say how it ended, and the row says that, once two rounds have found it so: its last lines may be under way.
 * - an open response without a row: the row is made from the record.
 *
 * Each round looks at a bounded number of both, and goes on where the last one was.
 */
export class RowHealer {
  readonly #store: Healed;
  readonly #table: RowTable;
  /** Rows that this pass has looked at, and ids by cell. */
  #rowsAt = 0;
  readonly #idsAt = new Map<string, number>();
  /** Rows whose record was gone in the last round, and in this one. */
  #suspects = new Set<string>();
  #gone = new Set<string>();

  constructor({
    store,
    table,
  }: {
    store: Healed;
    table: RowTable;
  }) {
    this.#store = store;
    this.#table = table;
  }

  /** Rejects while no cell of the store answers; the next round finds the rest. */
  async round(): Promise<void> {
    const { cells } = this.#store.keys;
    const cellIn = (id: string) => (cells.includes(cellOf(id)) ? cellOf(id) : cells[0]);
    const rows = Map.groupBy(this.#rowsOfRound(), ({ subject }) => cellIn(responseOfSubject(subject)));
    const rounds = await Promise.allSettled(cells.map((cell) => this.#roundIn(cell, rows.get(cell) ?? [])));
    const [away] = rounds;
    if (away?.status === 'rejected' && rounds.every(({ status }) => status === 'rejected')) throw away.reason;
    this.#suspects = this.#gone;
    this.#gone = new Set();
  }

  async #roundIn(cell: Cell, rows: readonly IndexedRow[]): Promise<void> {
    const ended = await this.#endedRows(cell, rows);
    await this.#read(ended.slice(0, mostRecords));
    const missing = await this.#missingRows(cell);
    await this.#read(missing.slice(0, mostRecords));
  }

  /** The open rows that this round looks at. */
  #rowsOfRound(): IndexedRow[] {
    const open = [...this.#table.open];
    const page = open.slice(this.#rowsAt, this.#rowsAt + mostIds);
    this.#rowsAt = this.#rowsAt + mostIds >= open.length ? 0 : this.#rowsAt + mostIds;
    return [...new Set([...this.#suspectRows(), ...page])];
  }

  /** Those whose response is not open. */
  async #endedRows(cell: Cell, rows: readonly IndexedRow[]): Promise<string[]> {
    const ids = rows.map(({ subject }) => responseOfSubject(subject));
    const areOpen = await this.#store.areOpen(cell, ids);
    return ids.filter((_id, at) => areOpen[at] === false || rows[at]?.acceptedAt === 0);
  }

  #suspectRows(): IndexedRow[] {
    return [...this.#suspects].flatMap((subject) => this.#table.get(subject) ?? []);
  }

  /** Open responses that no row tells of. */
  async #missingRows(cell: Cell): Promise<string[]> {
    const offset = this.#idsAt.get(cell) ?? 0;
    const ids = await this.#store.openIds(cell, { offset, count: mostIds });
    this.#idsAt.set(cell, ids.length < mostIds ? 0 : offset + mostIds);
    return ids.filter((id) => !this.#table.get(subjectOfResponse(id)));
  }

  async #read(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += batchSize) {
      await Promise.all(ids.slice(at, at + batchSize).map((id) => this.#readOne(id)));
    }
  }

  async #readOne(id: string): Promise<void> {
    const subject = subjectOfResponse(id);
    const summary = await readIfKnown(this.#store, id);
    const row = this.#table.get(subject);
    if (summary) this.#table.change(subject, (each) => takeSummary(each, summary));
    else if (row?.acceptedAt === 0) this.#table.drop(row);
    else if (row && !isTerminal(row.status)) {
      if (this.#suspects.has(subject)) this.#table.change(subject, giveUp);
      else this.#gone.add(subject);
    }
  }
}

/** A record of another release counts as unknown. An error of Redis is thrown. */
async function readIfKnown(
  store: Pick<ResponseStores, 'readSummary'>,
  id: string,
): Promise<ResponseSummary | undefined> {
  try {
    return await store.readSummary(id, { mostRequestBytes: 0 });
  } catch (error) {
    if (error instanceof Error && error.name === 'UnknownVersion') return undefined;
    throw error;
  }
}

function takeSummary(row: IndexedRow, summary: ResponseSummary): void {
  const { tenant, serviceTier, request, acceptedAt, status, startedAt, attempts, end } = summary;
  row.tenant = tenant;
  row.model = request.model;
  row.tier = serviceTier;
  row.mode = modeOf(request);
  row.acceptedAt = acceptedAt;
  row.startedAt ??= startedAt ?? null;
  row.attempts = Math.max(row.attempts, attempts);
  row.digests ||= digestsOf(request.metadata ?? undefined);
  // The journal says more of an end than the record does.
  if (isTerminal(row.status)) return;
  row.status = status;
  if (!end) return;
  row.code = end.error?.code ?? null;
  row.inputTokens = end.usage?.input_tokens ?? null;
  row.outputTokens = end.usage?.output_tokens ?? null;
}

function giveUp(row: IndexedRow): void {
  row.status = 'incomplete';
  row.code = unknownEnd;
}
