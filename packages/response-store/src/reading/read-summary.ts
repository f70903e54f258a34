import type { ServiceTier, Status } from '@sluice/contract';
import { type EndFacts, parseEndFacts } from '../record/end-json.ts';
import { type FieldName, recordVersion } from '../record/fields.ts';
import { readRequestAhead } from '../record/large-value.ts';
import { type StoredRequest, UnknownVersion } from '../record/record.ts';
import type { LargeAccess } from '../record/store-access.ts';
import { type FoundEnd, readLongEnd, readWithEnd } from './read-record.ts';

/** The facts of a response without its content. Times are milliseconds of the store's clock. */
export interface ResponseSummary {
  id: string;
  tenant: string;
  status: Status;
  serviceTier: ServiceTier;
  queue: string;
  requestId: string;
  acceptedAt: number;
  startedAt: number | undefined;
  attempts: number;
  /** Whether its events are logged, and the number of the last one. */
  streams: boolean;
  sequenceNumber: number;
  previousId: string | undefined;
  /** Bytes of all that goes into it: its input, and what it continues from. */
  askedBytes: number | undefined;
  /** The request without its input; of one that is larger than was asked for, the short members alone. */
  request: StoredRequest;
  end: EndFacts | undefined;
}

const names = [
  'version',
  'id',
  'tenant',
  'status',
  'tier',
  'queue',
  'request_id',
  'accepted_at',
  'started_at',
  'attempt',
  'stream',
  'seq',
  'previous',
  'asked_bytes',
  'request',
  'request_ahead',
] satisfies FieldName[];

/**
 * A response without its content; undefined when there is none. The output in its end is never parsed. A request with more
 * bytes than `mostRequestBytes` that is kept apart from the record is not read.
 *
 * @throws {UnknownVersion}
 */
export async function readSummary(
  access: LargeAccess,
  responseId: string,
  { mostRequestBytes }: { mostRequestBytes: number },
): Promise<ResponseSummary | undefined> {
  const { fields, end } = await readWithEnd(access, responseId, names);
  if (fields.status === undefined) return undefined;
  if (fields.version !== recordVersion) throw new UnknownVersion(fields.version);
  const isRead = (fields.request_ahead ?? 0) <= mostRequestBytes;
  const ahead = isRead ? await readRequestAhead(access, responseId, fields.request_ahead) : undefined;
  return {
    id: responseId,
    tenant: fields.tenant ?? '',
    status: fields.status,
    // The accept writes both, and the request.
    serviceTier: fields.tier as ServiceTier,
    queue: fields.queue ?? '',
    requestId: fields.request_id ?? '',
    acceptedAt: fields.accepted_at ?? 0,
    startedAt: fields.started_at,
    attempts: fields.attempt ?? 0,
    streams: fields.stream === true,
    sequenceNumber: fields.seq ?? 0,
    previousId: fields.previous,
    askedBytes: fields.asked_bytes,
    request: JSON.parse(ahead ?? fields.request ?? '{}') as StoredRequest,
    end: await factsOf(access, responseId, end),
  };
}

/** One long end at a time is in memory for this, because no two of them are under way. */
async function factsOf(
  access: LargeAccess,
  responseId: string,
  end: FoundEnd | undefined,
): Promise<EndFacts | undefined> {
  if (end?.kind !== 'long') return end && parseEndFacts(end.json);
  const json = await readLongEnd(access, responseId, end.bytes);
  return json && parseEndFacts(json.toString());
}
