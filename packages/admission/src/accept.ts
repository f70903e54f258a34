import { createHash } from 'node:crypto';
import { canonicalJson, type CreateResponse, type ServiceTier } from '@sluice/contract';
import { loadScript, recordVersion, type RedisKeys, textReply } from '@sluice/event-log';
import type { Redis } from 'ioredis';

const acceptScript = loadScript(new URL('../src/accept.lua', import.meta.url));

/** Inputs longer than this, in characters of JSON, go ahead of the script under a key of their own. */
const largeInput = 64 * 1024;

/** How long an input that went ahead stays without its accept, which lengthens that, in milliseconds. */
const aheadMs = 60_000;

export interface AcceptLimits {
  /** Of the tenant, over all api processes; undefined: no limit. */
  requestsPerMinute: number | undefined;
  /** Most responses of the tenant that may wait; undefined: only the service's own bound. */
  tenantQueued: number | undefined;
  /** Most responses, and most bytes of them, that may wait in all. */
  queued: number;
  queuedBytes: number;
}

export interface AcceptRequest {
  responseId: string;
  /** Id of the create call, kept for messages and the log. */
  requestId: string;
  tenant: string;
  request: CreateResponse;
  serviceTier: ServiceTier;
  queue: string;
  /** Lease of the api process whose caller waits; undefined when nobody does. */
  apiProcess: string | undefined;
  limits: AcceptLimits;
  /** Longest wait in the queue. */
  queueMs: number;
  /** How long a caller may be away before the response is given up, in milliseconds. */
  graceMs: number;
  /** The Idempotency-Key and how long it stands for this response; undefined without one. */
  idempotency: { key: string; keepMs: number } | undefined;
  /** How long a stored response can be listed at most, in milliseconds: the same whatever its mode. */
  listMs: number;
  /** Expiry of everything written, in case nobody ever ends the response. */
  expireMs: number;
  /** Latest time, by the store's clock in milliseconds, at which the accept may still happen. */
  deadline: number;
}

/** Where a tenant stands with its request limit; undefined when it has none. */
export interface RequestRate {
  limit: number;
  remaining: number;
  resetMs: number;
}

export type AcceptResult =
  | { kind: 'accepted'; acceptedAt: number; rate: RequestRate | undefined }
  | {
      kind: 'rate_limited' | 'tenant_queue_full' | 'queue_full';
      retryAfterMs: number;
      rate: RequestRate | undefined;
    }
  /** The Idempotency-Key stands for a response that runs or has its answer: attach to it. */
  | { kind: 'duplicate'; responseId: string }
  /** The Idempotency-Key came with another body before, or its answer was not kept. */
  | { kind: 'mismatch' | 'gone' }
  /** The deadline had passed when the store got to it. */
  | { kind: 'too_late' };

/**
 * Admits a response and writes its record and first events, in one atomic step, or refuses it and writes nothing.
 *
 * Nothing waits in the queue yet: the caller adds the job next and answers its client after that. A process
 * that dies in between leaves a record without a job, which was never acknowledged; the rescue abandons it.
 * A call that got no answer may still take effect until its deadline, so its caller must `abandon` it.
 */
export async function accept(redis: Redis, keys: RedisKeys, accepting: AcceptRequest): Promise<AcceptResult> {
  const { responseId, tenant, limits } = accepting;
  const { input, ...request } = accepting.request;
  const inputJson = JSON.stringify(input);
  const requestJson = JSON.stringify(request);
  const isLarge = inputJson.length > largeInput;
  if (isLarge) await redis.set(keys.input(responseId), inputJson, 'PX', aheadMs);
  const { idempotency } = accepting;
  const reply = await acceptScript(
    redis,
    [
      keys.record(responseId),
      keys.log(responseId),
      keys.open,
      keys.load,
      keys.requestRate(tenant),
      keys.stored(tenant),
      idempotency ? keys.idempotency(tenant, digest(idempotency.key)) : keys.record(responseId),
      keys.input(responseId),
    ],
    [
      accepting.deadline,
      responseId,
      tenant,
      limits.requestsPerMinute ?? '',
      limits.tenantQueued ?? '',
      limits.queued,
      limits.queuedBytes,
      inputJson.length + requestJson.length,
      accepting.queueMs,
      accepting.expireMs,
      request.stream === true ? 1 : 0,
      idempotency ? bodyDigest(accepting.request) : '',
      idempotency?.keepMs ?? '',
      request.store === false ? '' : accepting.listMs,
      ...[
        'version',
        recordVersion,
        'tier',
        accepting.serviceTier,
        'queue',
        accepting.queue,
        'request',
        requestJson,
      ],
      ...[
        'request_id',
        accepting.requestId,
        'background',
        request.background === true ? 1 : 0,
        'grace_ms',
        accepting.graceMs,
      ],
      ...(accepting.apiProcess ? ['watchers', accepting.apiProcess] : []),
      ...(isLarge ? [] : ['input', inputJson]),
    ],
  );
  const result = parseReply(textReply(reply), limits.requestsPerMinute);
  if (isLarge && result.kind !== 'accepted') await redis.unlink(keys.input(responseId));
  return result;
}

function parseReply(
  [kind, left, reset, last]: (string | undefined)[],
  limit: number | undefined,
): AcceptResult {
  const rate =
    limit === undefined ? undefined : { limit, remaining: Number(left ?? 0), resetMs: Number(reset ?? 0) };
  switch (kind) {
    case 'accepted':
      return { kind, acceptedAt: Number(last), rate };
    case 'rate_limited':
    case 'tenant_queue_full':
    case 'queue_full':
      return { kind, retryAfterMs: Number(last), rate };
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

/**
 * What makes two requests the same: everything but how the answer is delivered, so that a caller may come back
 * for it in another mode.
 */
function bodyDigest({ stream: _, stream_options: __, ...rest }: CreateResponse): string {
  return digest(canonicalJson(rest));
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
