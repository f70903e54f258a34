import { newResponseId, ServiceError } from '@sluice/contract';
import type { AttemptStore } from '../attempt-store.ts';
import type { CallerStore } from '../caller-store.ts';
import { listStored } from '../reading/list-stored.ts';
import { type Cell, cellOf } from '../record/cells.ts';
import { type RedisKeys, redisKeys } from '../record/keys.ts';
import type { ResponseStore } from '../response-store.ts';
import { acceptInCell } from './accept-in-cell.ts';
import { addUpUse } from './add-up-use.ts';
import { cellsOfNew, responseOfKey } from './cells-of-new.ts';
import { locateInParts } from './locate-in-parts.ts';
import { untilCellsStart } from './start-cells.ts';
import { type CellsInUse, TenantCells } from './tenant-cells.ts';

/** Everything that others use of a store: that of one cell, or those of several as one. */
export type ResponseStores = Pick<ResponseStore, keyof ResponseStore>;
export type CallerStores = Pick<CallerStore, keyof CallerStore>;
export type AttemptStores = Pick<AttemptStore, keyof AttemptStore>;

/** The store of each cell, the first one first. */
export type ByCell<Store> = ReadonlyMap<Cell, Store>;

/**
 * The stores of several cells as one. Each step goes to the cell of its response, so that a cell that is away holds up nothing of
 * another. What is asked about a tenant is asked in all cells, and what is asked about a cell in that one.
 *
 * An id that names none of the cells is asked for in the first one, which does not have it.
 */
export function responseStores(
  keyPrefix: string,
  stores: ByCell<ResponseStore>,
  cells?: Pick<CellsInUse, 'open' | 'knowsAll' | 'isJoining'>,
): ResponseStores {
  const { all, of, inCell } = finder(stores, cells?.knowsAll);
  const names = () => [...stores.keys()];
  const keys: RedisKeys = redisKeys(keyPrefix, names, cells ? () => cells.open : names);
  const united: ResponseStores = {
    keys,
    read: (id) => of(id).read(id),
    readWhole: (id) => of(id).readWhole(id),
    readSummary: (id, most) => of(id).readSummary(id, most),
    readEvents: (id, cursor, count) => of(id).readEvents(id, cursor, count),
    hasLog: (id) => of(id).hasLog(id),
    cancel: (id, reason, options) => of(id).cancel(id, reason, options),
    endIfQueued: (id, end, reason) => of(id).endIfQueued(id, end, reason),
    queuePriority: (id) => of(id).queuePriority(id),
    standInLine: (id) => of(id).standInLine(id),
    erase: (id, tenant, options) => of(id).erase(id, tenant, options),
    acceptedAt: (ids) => inParts(ids, { of, idOf: (id) => id, ask: (store, part) => store.acceptedAt(part) }),
    openIds: (cell, page) => inCell(cell).openIds(cell, page),
    openQueues: (cell) => inCell(cell).openQueues(cell),
    areOpen: (cell, ids) => inCell(cell).areOpen(cell, ids),
    waiting: (cell) => inCell(cell).waiting(cell),
    placeOnList: (tenant, id) => of(id).placeOnList(tenant, id),
    listed: (tenant, page) => inCell(page.cell).listed(tenant, page),
    tenantUse: async (tenants) => addUpUse(await askThere(all(), (store) => store.tenantUse(tenants))),
    list: (tenant, page, hold) =>
      listStored(
        united,
        { tenant, cells: keys.cells.filter((cell) => !cells?.isJoining(cell)), ...page },
        hold,
      ),
  };
  return united;
}

/** The same as an api uses them. */
export function callerStores(
  keyPrefix: string,
  stores: ByCell<CallerStore>,
  cells: CellsInUse,
): CallerStores {
  const { all, of } = finder(stores, cells.knowsAll);
  const common = responseStores(keyPrefix, stores, cells);
  const tenantCells = new TenantCells(cells);
  return {
    ...common,
    start: () => startAll(all()),
    stop: () => inAll(all(), (store) => store.stop()),
    newIds: async (tenant, randomBytes, place) => {
      const found = await cellsOfNew(tenant, place, { stores, tenantCells });
      for (const cell of found) if (!cells.open.includes(cell)) cells.onUse(cell);
      return found.map((cell) => newResponseId(randomBytes, cell));
    },
    responseOfKey: (tenant, idempotencyKey, previousId) =>
      responseOfKey(tenant, { previousId, idempotencyKey }, { stores, tenantCells }),
    accept: (accepting) => acceptInCell(of(accepting.id), accepting, tenantCells),
    // Items may be of several cells.
    locateItems: (tenant, itemIds, limits) => locateInParts(of, { tenant, itemIds }, limits),
    earlierTokens: (tenant, id) => of(id).earlierTokens(tenant, id),
    locateInput: (tenant, id) => of(id).locateInput(tenant, id),
    get openEnds() {
      return all().reduce((sum, { openEnds }) => sum + openEnds, 0);
    },
    openEnd: (id, reading) => of(id).openEnd(id, reading),
    readShort: (id) => of(id).readShort(id),
    previousOf: (id) => of(id).previousOf(id),
    locateContextInputs: (response, limits) => of(response.responseId).locateContextInputs(response, limits),
    readItemPart: (part) => of(part.turn.responseId).readItemPart(part),
    isDurable: async (...ids) => {
      const asked = ids.length === 0 ? all() : [...new Set(ids.map(of))];
      return (await Promise.all(asked.map((store) => store.isDurable()))).every(Boolean);
    },
    noteJob: (id, jobs) => of(id).noteJob(id, jobs),
    abandon: (id, acceptDeadline) => of(id).abandon(id, acceptDeadline),
    attach: (id) => of(id).attach(id),
    leave: (id, options) => of(id).leave(id, options),
    eraseAfterReader: (id, tenant, options) => of(id).eraseAfterReader(id, tenant, options),
    wasAskedToEnd: (id) => of(id).wasAskedToEnd(id),
    follow: (id, options) => of(id).follow(id, options),
    awaitEnd: (id) => of(id).awaitEnd(id),
  };
}

/** The same as a worker uses them. */
export function attemptStores(
  keyPrefix: string,
  stores: ByCell<AttemptStore>,
  cells: CellsInUse,
): AttemptStores {
  const { all, first, of, inCell } = finder(stores);
  return {
    ...responseStores(keyPrefix, stores, cells),
    start: () => startAll(all()),
    stop: () => inAll(all(), (store) => store.stop()),
    claim: (id, token) => of(id).claim(id, token),
    takeOver: (id, token) => of(id).takeOver(id, token),
    writer: (record, options) => of(record.id).writer(record, options),
    readContext: (record) => of(record.id).readContext(record),
    serverOf: (id) => of(id).serverOf(id),
    // Calls under way are those of all cells, which one of them knows.
    shareCalls: (own) => first().shareCalls(own),
    readContentEvents: (id) => of(id).readContentEvents(id),
    release: (held, options) => of(held.id).release(held, options),
    blame: (id) => of(id).blame(id),
    checkLeases: (held) =>
      inParts(held, {
        of,
        idOf: ({ responseId }) => responseId,
        ask: (store, part) => store.checkLeases(part),
      }),
    leadRescue: (cell, leaseMs) => inCell(cell).leadRescue(cell, leaseMs),
    survey: (cell, page) => inCell(cell).survey(cell, page),
    surveyDue: (cell, due) => inCell(cell).surveyDue(cell, due),
    nextDue: (cell) => inCell(cell).nextDue(cell),
    renumber: (cell, queue, order) => inCell(cell).renumber(cell, queue, order),
    farQueues: (cell) => inCell(cell).farQueues(cell),
    runningFlows: (cell, running) => inCell(cell).runningFlows(cell, running),
    recount: (cell) => inCell(cell).recount(cell),
  };
}

interface Finder<Store> {
  /** Cells may come and go. */
  all: () => Store[];
  first: () => Store;
  of: (responseId: string) => Store;
  inCell: (cell: Cell) => Store;
}

/**
 * A response of a cell that is not known is asked for in the first one, which does not have it, unless the cell may have come a moment ago: nobody says
 * then that a response is not there.
 */
function finder<Store>(stores: ByCell<Store>, knowsAll = () => true): Finder<Store> {
  const first = () => {
    for (const store of stores.values()) return store;
    throw new RangeError('There is no cell');
  };
  const inCell = (cell: Cell) => stores.get(cell) ?? first();
  return {
    all: () => [...stores.values()],
    first,
    inCell,
    of: (responseId) => {
      const store = stores.get(cellOf(responseId));
      if (store) return store;
      if (!knowsAll()) throw new ServiceError('server_is_overloaded');
      return first();
    },
  };
}

/** The answers of the cells that are there. Rejects when none is. */
async function askThere<Store, Answer>(
  stores: readonly Store[],
  question: (store: Store) => Promise<Answer>,
): Promise<Answer[]> {
  const answers = await Promise.allSettled(stores.map(question));
  const there = answers.filter((answer) => answer.status === 'fulfilled').map(({ value }) => value);
  const [away] = answers;
  if (there.length === 0 && away?.status === 'rejected') throw away.reason;
  return there;
}

/** A cell that is away joins when it is there. */
function startAll(stores: readonly { start: () => Promise<void> }[]): Promise<void> {
  // A store waits for its Redis as long as it takes, and does not fail.
  return untilCellsStart(
    stores.map((store) => store.start()),
    () => undefined,
  );
}

async function inAll<Store>(stores: readonly Store[], act: (store: Store) => Promise<void>): Promise<void> {
  await Promise.all(stores.map(act));
}

/** Asks each store about what is its own, and puts the answers into the order of the questions. */
async function inParts<Store, Item, Answer>(
  items: readonly Item[],
  {
    of,
    idOf,
    ask,
  }: {
    of: (responseId: string) => Store;
    idOf: (item: Item) => string;
    ask: (store: Store, part: readonly Item[]) => Promise<Answer[]>;
  },
): Promise<Answer[]> {
  const answers: Answer[] = Array.from({ length: items.length });
  const parts = Map.groupBy(items.keys(), (at) => of(idOf(items[at] as Item))); // `at` is one of its own
  await Promise.all(
    [...parts].map(async ([store, places]) => {
      const part = await ask(
        store,
        places.map((at) => items[at] as Item), // the same
      );
      for (const [nth, at] of places.entries()) answers[at] = part[nth] as Answer; // one for each question
    }),
  );
  return answers;
}
