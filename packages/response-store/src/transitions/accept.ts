import { createHash } from 'node:crypto';
import {
  admissionFragments,
  type AdmissionLimits,
  boundInUnits,
  isRefusal,
  parseRate,
  type Refusal,
  type RequestRate,
  weightOf,
} from '@sluice/admission';
import type { ServiceTier } from '@sluice/contract';
import type { PreparedRequest } from '../prepared-request.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { sendAhead } from './send-ahead.ts';

const acceptScript = defineScript({
  transition: 'accept',
  file: new URL('../../src/transitions/accept.lua', import.meta.url),
  fragments: [...admissionFragments, ...fragments('clock')],
  keys: ['record', 'log', 'open', 'load', 'rate', 'stored', 'idempotency', 'input'],
  args: [
    ...(['deadline', 'requests_per_minute', 'tenant_queued', 'queued', 'queued_units', 'queue_ms'] as const),
    ...(['digest', 'key_ms', 'list_ms', 'id', 'tenant', 'tier', 'queue', 'request', 'request_id'] as const),
    ...(['weight', 'stream', 'stored_flag', 'background', 'grace_ms', 'watchers', 'input_json'] as const),
  ],
  numbers: [
    ...(['deadline', 'requests_per_minute', 'tenant_queued', 'queued', 'queued_units', 'queue_ms'] as const),
    'list_ms',
  ],
});

/** Inputs longer than this, in characters or bytes of JSON, go ahead of the script under a key of their own. */
const largeInput = 64 * 1024;

export interface AcceptRequest {
  responseId: string;
  /** Id of the create call, kept for messages and the log. */
  requestId: string;
  tenant: string;
  /** With its digest where there is an Idempotency-Key. */
  prepared: PreparedRequest;
  serviceTier: ServiceTier;
  queue: string;
  /** Lease of the api process whose caller waits; undefined when nobody does. */
  watcher: string | undefined;
  limits: AdmissionLimits;
  /** Longest wait in the queue. */
  queueMs: number;
  /** How long a caller may be away before the response is given up, in milliseconds. */
  graceMs: number;
  /** The Idempotency-Key and how long it stands for this response; undefined without one. */
  idempotency: { key: string; keepMs: number } | undefined;
  /** Gives the list of the tenant this long again, in milliseconds; undefined to leave its expiry as it is. */
  renewListMs: number | undefined;
  /** Latest time, by the store's clock in milliseconds, at which the accept may still happen. */
  deadline: number;
}

export type AcceptResult =
  | { kind: 'accepted'; acceptedAt: number; rate: RequestRate | undefined }
  | { kind: Refusal; retryAfterMs: number; rate: RequestRate | undefined }
  /** The Idempotency-Key stands for a response that runs or has its answer: attach to it. */
  | { kind: 'duplicate'; responseId: string }
  /** The Idempotency-Key came with another body before, or its answer was not kept. */
  | { kind: 'mismatch' | 'gone' }
  /** The deadline had passed when the store got to it. */
  | { kind: 'too_late' };

/**
 * Admits a response and writes its record and first events, in one atomic step, or refuses it and leaves everything as it
 * was.
 *
 * Nothing waits in the queue yet: the caller adds the job next and answers its client after that. A process that dies in
 * between leaves a record without a job, which was never acknowledged; the rescue abandons it. A call that got no
 * answer may still take effect until its deadline, so its caller must `abandon` it.
 */
export async function accept(access: StoreAccess, accepting: AcceptRequest): Promise<AcceptResult> {
  const { responseId, tenant, limits, idempotency } = accepting;
  const { request, requestJson, input, digest: bodyDigest } = accepting.prepared;
  if (idempotency && bodyDigest === undefined) throw new TypeError('A request with a key has no digest');
  const { redis } = access;
  const { cell, record, log, input: inputKey } = keysOf(access, responseId);
  const inline = typeof input === 'string' && input.length <= largeInput ? input : undefined;
  if (inline === undefined) await sendAhead(redis, inputKey, input);
  const reply = await acceptScript(redis, {
    keys: {
      record,
      log,
      open: cell.open,
      load: cell.load,
      rate: cell.requestRate(tenant),
      stored: cell.stored(tenant),
      idempotency: idempotency ? cell.idempotency(tenant, digest(idempotency.key)) : record,
      input: inline === undefined ? inputKey : record,
    },
    args: {
      deadline: accepting.deadline,
      requests_per_minute: limits.requestsPerMinute ?? '',
      tenant_queued: limits.tenantQueued ?? '',
      queued: limits.queued,
      queued_units: boundInUnits(limits.queuedBytes),
      queue_ms: accepting.queueMs,
      digest: idempotency ? (bodyDigest ?? '') : '',
      key_ms: idempotency?.keepMs ?? '',
      list_ms: accepting.renewListMs ?? '',
      id: responseId,
      tenant,
      tier: accepting.serviceTier,
      queue: accepting.queue,
      request: requestJson,
      request_id: accepting.requestId,
      weight: weightOf(input.length + requestJson.length),
      stream: request.stream === true ? 1 : 0,
      stored_flag: request.store === false ? 0 : 1,
      background: request.background === true ? 1 : 0,
      grace_ms: accepting.graceMs,
      watchers: accepting.watcher ?? '',
      input_json: inline ?? '',
    },
  });
  const result = parseReply(textReply(reply), limits.requestsPerMinute);
  if (inline === undefined && result.kind !== 'accepted') await redis.unlink(inputKey);
  return result;
}

function parseReply(
  [kind, left, reset, last]: (string | undefined)[],
  limit: number | undefined,
): AcceptResult {
  if (isRefusal(kind)) return { kind, retryAfterMs: Number(last), rate: parseRate(limit, left, reset) };
  switch (kind) {
    case 'accepted':
      return { kind, acceptedAt: Number(last), rate: parseRate(limit, left, reset) };
    case 'duplicate':
      return { kind, responseId: left ?? '' };
    case 'mismatch':
    case 'gone':
    case 'too_late':
      return { kind };
    default:
      throw new TypeError(`The accept script answered '${String(kind)}'`);
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
