import {
  type CreateResponse,
  type InputItem,
  type Response,
  type ResponseEnd,
  responseFor,
  type ServiceTier,
  type Status,
  withEnd,
} from '@sluice/contract';
import { parseEnd } from './end-json.ts';
import { type FieldName, type RecordFields, recordVersion } from './fields.ts';

/** A request without its input, which can be large and which only a worker needs. */
export type StoredRequest = Omit<CreateResponse, 'input'>;

/** A record as every process reads it. Times are milliseconds of the store's clock. */
export interface ResponseRecord {
  id: string;
  tenant: string;
  status: Status;
  request: StoredRequest;
  /** How many bytes the request without its input has, when it is so large that it is kept apart from the record; else 0. */
  largeRequestBytes: number;
  serviceTier: ServiceTier;
  /** The BullMQ queue the response waits in. */
  queue: string;
  acceptedAt: number;
  startedAt: number | undefined;
  /** Whether every event is logged; otherwise only its life cycle is known until it ends. */
  streams: boolean;
  /** The last sequence number in the log. */
  sequenceNumber: number;
  /** Whether its job is known to have been added to the queue. */
  isEnqueued: boolean;
  /** Where its request stands in a trace; undefined while traces were off. */
  traceparent?: string | undefined;
  /** The end, with all that it added; absent while there is none, and when it is long. */
  end: ResponseEnd | undefined;
  /** How many bytes the end has that was not read, because it is long; see `OpenEnds`. Otherwise 0. */
  longEndBytes: number;
}

/** How often an upstream limited a response, and when it did last, in milliseconds of the store's clock. */
export interface LimitedBefore {
  count: number;
  at: number;
}

/** A record together with its input, as a claim returns it. */
export interface ClaimedRecord extends ResponseRecord {
  input: InputItem[];
  /** How many bytes the input has as JSON; 0 when it was not read, because the response is only ended. */
  inputBytes: number;
  /** About how many tokens go into it, with what it continues from, as its accept estimated them; 0 when nobody knows. */
  inputTokens: number;
  /** The stored response that it continues from. */
  previousId: string | undefined;
  /** The right to write. */
  token: string;
  /** Counts the runs so far, this one included. */
  attempt: number;
  /** When it was claimed, in milliseconds of the clock of the store; the first time is `startedAt`. */
  claimedAt: number;
  /** Whether nobody has claimed it before. */
  isFirstClaim: boolean;
  /** Runs that died with their process. One more may take another process down. */
  losses: number;
  /** How often an upstream limited it where others were answered, and when last; undefined for never. */
  limited?: LimitedBefore | undefined;
  /** Most runs it may have. */
  maxAttempts: number;
  /** Request id of the create call, for messages and the log. */
  requestId: string;
  /** Most tokens of output that its tenant may ask for; undefined without such a limit. */
  mostOutputTokens: number | undefined;
  /** Time left for all attempts together, at the moment of the claim. */
  remainingMs: number;
}

/** The short fields a reader needs. The input stays where it is: it can be large, and a reader has no use for it. */
export const readerFields = [
  'version',
  'id',
  'tenant',
  'status',
  'tier',
  'request',
  'request_ahead',
  'queue',
  'accepted_at',
  'started_at',
  'stream',
  'seq',
  'enqueued',
  'traceparent',
] as const satisfies FieldName[];

/** A record was written by another release, which may mean something else by its fields. */
export class UnknownVersion extends Error {
  constructor(version: string | undefined) {
    super(`A record has the version ${version ?? '(none)'}; this release writes ${recordVersion}`);
    this.name = 'UnknownVersion';
  }
}

/**
 * The record in these fields; undefined when there is none.
 *
 * @throws {UnknownVersion}
 */
export function parseRecord(
  fields: Pick<RecordFields, (typeof readerFields)[number]> & Partial<Pick<RecordFields, 'result'>>,
  longEndBytes = 0,
): ResponseRecord | undefined {
  if (fields.status === undefined) return undefined;
  if (fields.version !== recordVersion) throw new UnknownVersion(fields.version);
  const { result } = fields;
  return {
    id: present(fields.id, 'id'),
    tenant: present(fields.tenant, 'tenant'),
    status: fields.status,
    serviceTier: present(fields.tier, 'tier') as ServiceTier, // written by the accept
    request: JSON.parse(present(fields.request, 'request')) as StoredRequest, // written by the accept
    largeRequestBytes: fields.request_ahead ?? 0,
    queue: present(fields.queue, 'queue'),
    acceptedAt: present(fields.accepted_at, 'accepted_at'),
    startedAt: fields.started_at,
    streams: fields.stream === true,
    sequenceNumber: present(fields.seq, 'seq'),
    isEnqueued: fields.enqueued === true,
    traceparent: fields.traceparent,
    end: result === undefined ? undefined : parseEnd(result).end,
    longEndBytes,
  };
}

/** The response object as it stands: what was asked for, where it is, and what its end added; a long end is given apart. */
export function responseOf(record: ResponseRecord, end: ResponseEnd | undefined = record.end): Response {
  const response = acceptedResponse(record);
  if (end) return withEnd(response, end);
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

function present<Value>(value: Value | undefined, name: FieldName): Value {
  if (value === undefined) throw new TypeError(`The record lacks its field '${name}'`);
  return value;
}
