import type { CreateResponse, InputItem, Response, ResponseEnd, ServiceTier, Status } from '@sluice/contract';
import { responseFor, withEnd } from '@sluice/contract';

/** Raised when the meaning of a record's fields changes; another version's records are left to its own workers. */
export const recordVersion = '1';

/** What was asked for, without its input: that can be large and only a worker needs it. */
export type StoredRequest = Omit<CreateResponse, 'input'>;

/** A record as every process reads it. Times are milliseconds of the store's clock. */
export interface ResponseRecord {
  id: string;
  tenant: string;
  status: Status;
  request: StoredRequest;
  serviceTier: ServiceTier;
  /** The BullMQ queue the response waits in. */
  queue: string;
  acceptedAt: number;
  startedAt: number | undefined;
  endedAt: number | undefined;
  /** Whether every event is logged; otherwise only its life cycle is known until it ends. */
  streams: boolean;
  /** The last sequence number in the log. */
  sequenceNumber: number;
  /** Whether its job is known to have been added to the queue. */
  isEnqueued: boolean;
  /** What the end added; absent while there is none. */
  end: ResponseEnd | undefined;
}

/** A record together with its input, as a claim returns it. */
export interface ClaimedRecord extends ResponseRecord {
  input: InputItem[];
  /** Counts the runs so far, this one included. */
  attempt: number;
  /** Most runs it may have. */
  maxAttempts: number;
  /** Request id of the create call, for messages and the log. */
  requestId: string;
  /** Time left for all attempts together, at the moment of the claim. */
  remainingMs: number;
}

export function parseRecord(fields: ReadonlyMap<string, string>): ResponseRecord {
  const result = fields.get('result');
  return {
    id: field(fields, 'id'),
    tenant: field(fields, 'tenant'),
    // The scripts write these three; each is one of its type's words.
    status: field(fields, 'status') as Status,
    serviceTier: field(fields, 'tier') as ServiceTier,
    request: JSON.parse(field(fields, 'request')) as StoredRequest,
    queue: field(fields, 'queue'),
    acceptedAt: Number(field(fields, 'accepted_at')),
    startedAt: optionalNumber(fields.get('started_at')),
    endedAt: optionalNumber(fields.get('ended_at')),
    streams: fields.get('stream') === '1',
    sequenceNumber: Number(fields.get('seq')),
    isEnqueued: fields.get('enqueued') === '1',
    end: result === undefined ? undefined : parseEnd(result),
  };
}

/** Our own serialisation, read back. */
export function parseEnd(json: string): ResponseEnd {
  return JSON.parse(json) as ResponseEnd; // written by `append` from a ResponseEnd
}

/** The response object as it stands: what was asked for, where it is, and what its end added. */
export function responseOf(record: ResponseRecord): Response {
  const response = acceptedResponse(record);
  if (record.end) return withEnd(response, record.end);
  return { ...response, status: record.status };
}

/** The response as it was accepted, from which its life-cycle events are made. */
export function acceptedResponse(
  record: Pick<ResponseRecord, 'id' | 'request' | 'acceptedAt' | 'serviceTier'>,
): Response {
  return responseFor(record.request, {
    id: record.id,
    createdAt: Math.floor(record.acceptedAt / 1000),
    serviceTier: record.serviceTier,
  });
}

export function fieldMap(pairs: readonly (string | undefined)[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const name = pairs[at];
    const value = pairs[at + 1];
    if (name !== undefined && value !== undefined) fields.set(name, value);
  }
  return fields;
}

function field(fields: ReadonlyMap<string, string>, name: string): string {
  const value = fields.get(name);
  if (value === undefined) throw new TypeError(`The record lacks its field '${name}'`);
  return value;
}

function optionalNumber(value: string | undefined): number | undefined {
  return value === undefined || value === '' ? undefined : Number(value);
}
