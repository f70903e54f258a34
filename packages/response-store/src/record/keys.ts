import { admissionKeys, type AdmissionKeys } from '@sluice/admission';
import { type Cell, cellOf, defaultCell, homeCell } from './cells.ts';
import { recordVersion } from './fields.ts';

/**
 * Every Redis key and channel of one cell, spelled in this one place.
 *
 * A lease and the channel of the process that holds it share one name: a reader of that name in a record can both
 * reach the process and see whether it lives.
 */
export interface CellKeys extends AdmissionKeys {
  /** Starts every key of the cell, those of BullMQ included. */
  readonly prefix: string;
  /** Hash: what was asked for, how far it is, who runs it, who waits for it, how it ended. */
  record(responseId: string): string;
  /** Stream: the events of a streamed response; entry `1-<sequence number>`, field `e` the event's JSON. */
  log(responseId: string): string;
  /** String: an event that is too long to travel inside a script, as the attempt with this token wrote it; see long-events.lua. */
  longEvent(responseId: string, token: string, sequenceNumber: number): string;
  /** String: what of a request is too large to travel inside the accept script; see the field `request_ahead`. */
  large(responseId: string): string;
  /** String: an end that is too long to travel inside the finish script; see the field `end_bytes`. */
  end(responseId: string): string;
  /** String: the same while it is written by the attempt with this token, and not the end yet. */
  endOf(responseId: string, token: string): string;
  /** Sorted set: responses without an end, scored by when somebody must look at them, in milliseconds. */
  readonly open: string;
  /** Sorted set: stored responses of a tenant, scored by the time of acceptance in milliseconds. */
  stored(tenant: string): string;
  /** Hash: the response that a tenant's Idempotency-Key stands for; `keyHash` is a digest of the key. */
  idempotency(tenant: string, keyHash: string): string;
  /** Hash: how many responses of a tenant run at a time, and its lines, as fields `line:<queue>`; see places.lua. */
  places(tenant: string): string;
  /** Sorted set: responses of a tenant that wait for a place, or are in their queue and have none; see places.lua. */
  line(tenant: string, queue: string): string;
  /** Lease and channel of an api process. */
  apiProcess(processId: string): string;
  /** Lease and channel of a worker process. */
  workerProcess(processId: string): string;
  /**
   * String: lease of the worker process that rescues. Each release that writes other records has one of its own, because a
   * rescuer leaves the records of other releases alone.
   */
  readonly rescuer: string;
  /** Hash: the calls under way of each worker process, by server; see tell-calls.lua. */
  readonly serverCalls: string;
  /** Stream: the end of each response, for those who tell of it later; see `outbox/outbox.ts`. */
  readonly outbox: string;
  /** String: lease of the process that reads the outbox for a reader. */
  outboxLease(reader: string): string;
  /** Hash: how many ends a reader was given, to find out how many it was not; see take-ends.lua. */
  outboxGiven(reader: string): string;
  /** Written before each wait for durability. */
  readonly barrier: string;
  /** Never set: a process tries with it whether Redis takes writes. */
  readonly probe: string;
}

/** Keys by cell, by response and by tenant. */
export interface RedisKeys {
  readonly cells: readonly Cell[];
  inCell(cell: Cell): CellKeys;
  /** The keys of the cell that holds the response. */
  of(responseId: string): CellKeys;
  /** The cell where a tenant's new responses, its limits and its list are. */
  home(tenant: string): Cell;
}

/** `cells`: all of them, the first one first, which may come and go. `open`: those that take new responses; all of them by default. */
export function redisKeys(
  prefix: string,
  cells: () => readonly Cell[] = () => [defaultCell],
  open: () => readonly Cell[] = cells,
): RedisKeys {
  const known = new Map<Cell, CellKeys>();
  const inCell = (cell: Cell): CellKeys => {
    const found = known.get(cell);
    if (found) return found;
    const keys = cellKeys(`${prefix}{${cell}}:`);
    known.set(cell, keys);
    return keys;
  };
  return {
    get cells() {
      return cells();
    },
    inCell,
    of: (responseId) => {
      const cell = cellOf(responseId);
      // A cell that is not configured is asked for nothing: in a cluster its keys may be anywhere. The first one does not have them.
      const all = cells();
      return inCell(all.includes(cell) ? cell : (all[0] ?? defaultCell));
    },
    home: (tenant) => homeCell(tenant, open()),
  };
}

function cellKeys(prefix: string): CellKeys {
  return {
    ...admissionKeys(prefix),
    prefix,
    record: (responseId) => `${prefix}response:${responseId}`,
    log: (responseId) => `${prefix}log:${responseId}`,
    longEvent: (responseId, token, sequenceNumber) => `${prefix}log:${responseId}:${token}:${sequenceNumber}`,
    large: (responseId) => `${prefix}large:${responseId}`,
    end: (responseId) => `${prefix}end:${responseId}`,
    endOf: (responseId, token) => `${prefix}end:${responseId}:${token}`,
    open: `${prefix}open`,
    stored: (tenant) => `${prefix}stored:${tenant}`,
    idempotency: (tenant, keyHash) => `${prefix}idempotency:${tenant}:${keyHash}`,
    places: (tenant) => `${prefix}places:${tenant}`,
    line: (tenant, queue) => `${prefix}line:${tenant}:${queue}`,
    apiProcess: (processId) => `${prefix}api:${processId}`,
    workerProcess: (processId) => `${prefix}worker:${processId}`,
    rescuer: `${prefix}rescuer:${recordVersion}`,
    serverCalls: `${prefix}server-calls`,
    outbox: `${prefix}outbox`,
    outboxLease: (reader) => `${prefix}outbox:${reader}`,
    outboxGiven: (reader) => `${prefix}outbox:${reader}:given`,
    barrier: `${prefix}barrier`,
    probe: `${prefix}probe`,
  };
}
