import { createHash } from 'node:crypto';
import {
  enterFragments,
  type AdmissionLimits,
  boundInUnits,
  type ExpectedTokens,
  printLimits,
  weightOf,
} from '@sluice/admission';
import { openToolOutputs, responseIdSchema, type ServiceTier } from '@sluice/contract';
import { largeFrom } from '../large-values.ts';
import type { PreparedRequest } from '../prepared-request.ts';
import { cellOf } from '../record/cells.ts';
import { bytesOf, shortMembers, textOf } from '../record/large-value.ts';
import { keysOf, type LargeAccess } from '../record/store-access.ts';
import { callDigests, mostCalls, mostCallsLength, printCalls } from '../record/tool-calls.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { type AcceptResult, parseAcceptReply } from './accept-result.ts';

const acceptScript = defineScript({
  by: 'accept',
  writes: [
    'version',
    'id',
    'tenant',
    'status',
    'tier',
    'queue',
    'request',
    'input',
    'large_bytes',
    'request_ahead',
    'previous',
    'asked_bytes',
    'context_turns',
    'context_calls',
    'request_id',
    'traceparent',
    'weight',
    'stream',
    'stored',
    'background',
    'idempotency',
    'accepted_at',
    'queue_by',
    'watchers',
    'grace_ms',
    'seq',
    'tag',
    'cost',
    'turn',
    'tokens',
    'most_output',
    'held',
  ],
  file: new URL('../../src/transitions/accept.lua', import.meta.url),
  fragments: [...enterFragments, ...fragments('clock')],
  keys: ['record', 'log', 'open', 'load', 'fair', 'stored', 'idempotency', 'large', 'previous'],
  args: [
    'deadline',
    'own_limits',
    'cost',
    'most_output',
    'queued',
    'queued_units',
    'queue_ms',
    'hold_ms',
    'digest',
    'key_ms',
    'list_ms',
    'order_ms',
    'id',
    'tenant',
    'tier',
    'queue',
    'request',
    'request_id',
    'weight',
    'stream',
    'stored_flag',
    'background',
    'grace_ms',
    'watchers',
    'input_json',
    'has_large',
    'request_ahead',
    'previous_id',
    'context_bytes',
    'context_turns',
    'calls',
    'calls_length',
    'traceparent',
  ],
  numbers: [
    'deadline',
    'cost',
    'queued',
    'queued_units',
    'queue_ms',
    'hold_ms',
    'list_ms',
    'order_ms',
    'request_ahead',
    'context_bytes',
    'context_turns',
    'calls_length',
  ],
});

/** How long what went ahead of an accept stays without it, in milliseconds. */
const aheadMs = 60_000;

/** Most that one response may continue from. */
export interface ContextLimits {
  /** In bytes of input and output, as JSON. */
  bytes: number;
  /** In responses. */
  turns: number;
}

export interface AcceptRequest {
  responseId: string;
  /** Id of the create call, kept for messages and the log. */
  requestId: string;
  /** Where the call stands in a trace, as W3C Trace Context prints it; undefined while traces are off. */
  traceparent?: string | undefined;
  tenant: string;
  /** With its digest where there is an Idempotency-Key, and with no reference left in its input. */
  prepared: PreparedRequest;
  serviceTier: ServiceTier;
  queue: string;
  /** Lease of the api process whose caller waits; undefined when nobody does. */
  watcher: string | undefined;
  limits: AdmissionLimits;
  tokens: ExpectedTokens;
  /** What it costs its flow in the queue; see `costOf`. */
  cost: number;
  /** Most tokens of output, told to the worker; undefined to leave it to the request and its model. */
  mostOutputTokens: number | undefined;
  /** Longest wait in the queue. */
  queueMs: number;
  /** By when all of it is gone from the store at the latest, in milliseconds from its accept. */
  holdMs: number;
  /** How long a caller may be away before the response is given up, in milliseconds. */
  graceMs: number;
  context: ContextLimits;
  /** The Idempotency-Key and how long it stands for this response; undefined without one. */
  idempotency: { key: string; keepMs: number } | undefined;
  /** Gives the list of the tenant this long again, in milliseconds; undefined to leave its expiry as it is. */
  renewListMs: number | undefined;
  /** The same for the order of its queue and the turns of the tenant. */
  renewOrderMs: number | undefined;
  /**
   * Latest time, by the store's clock in milliseconds, at which the accept may still happen. Asked for when what is large
   * has arrived, which has a time of its own.
   */
  deadline: () => number;
  /** Runs the script, and again while its reply is missing; once by default. */
  repeat?: (run: () => Promise<unknown>) => Promise<unknown>;
}

/**
 * Admits a response and writes its record and first events, in one atomic step, or refuses it and leaves everything as it
 * was.
 *
 * Nothing waits in the queue yet: the caller adds the job next and answers its client after that. A process that dies in
 * between leaves a record without a job, which was never acknowledged; the rescue abandons it.
 *
 * The script may be repeated after a reply that was lost: the response is accepted once, and told so, also past the
 * deadline. It may take effect until its deadline, so a caller that gives up must `abandon` it.
 *
 * What is too large for a script goes ahead of it, over a connection where nobody else waits behind it, and once: the
 * value of an accepted response is never written again.
 */
// oxlint-disable-next-line complexity -- an empty argument for each fact that may be absent, and few other branches
export async function accept(access: LargeAccess, accepting: AcceptRequest): Promise<AcceptResult> {
  const { responseId, tenant, limits, idempotency, context } = accepting;
  const { request, links, previousId, digest: bodyDigest } = accepting.prepared;
  if (idempotency && bodyDigest === undefined) throw new TypeError('A request with a key has no digest');
  const { redis } = access;
  const { cell, record, log, large } = keysOf(access, responseId);
  const made = links.flatMap((link) =>
    link.type === 'function_call' || link.type === 'custom_tool_call' ? [link.call_id] : [],
  );
  // No context keeps more calls than that, so one of these is missing if there are more.
  const awaited = [...openToolOutputs(links)].slice(0, mostCalls + 1);
  const { requestJson, inputJson, ahead, weight } = split(accepting.prepared);
  if (ahead) await access.large.write(large, ahead.parts, aheadMs);
  const input = {
    keys: {
      record,
      log,
      open: cell.open,
      load: cell.load,
      fair: cell.fair(accepting.queue),
      stored: cell.stored(tenant),
      idempotency: idempotency ? cell.idempotency(tenant, digest(idempotency.key)) : record,
      large: ahead ? large : record,
      previous: previousKey(access, responseId, previousId),
    },
    args: {
      deadline: accepting.deadline(),
      own_limits: printLimits(limits, accepting.tokens),
      cost: accepting.cost,
      most_output: accepting.mostOutputTokens ?? '',
      queued: limits.queued,
      queued_units: boundInUnits(limits.queuedBytes),
      queue_ms: accepting.queueMs,
      hold_ms: accepting.holdMs,
      digest: idempotency ? (bodyDigest ?? '') : '',
      key_ms: idempotency?.keepMs ?? '',
      list_ms: accepting.renewListMs ?? '',
      order_ms: accepting.renewOrderMs ?? '',
      id: responseId,
      tenant,
      tier: accepting.serviceTier,
      queue: accepting.queue,
      request: requestJson,
      request_id: accepting.requestId,
      weight,
      stream: request.stream === true ? 1 : 0,
      stored_flag: request.store === false ? 0 : 1,
      background: request.background === true ? 1 : 0,
      grace_ms: accepting.graceMs === 0 ? '' : accepting.graceMs,
      watchers: accepting.watcher ?? '',
      input_json: inputJson,
      has_large: ahead ? 1 : 0,
      request_ahead: ahead?.requestBytes ?? 0,
      previous_id: previousId ?? '',
      context_bytes: context.bytes,
      context_turns: context.turns,
      calls: printCalls(made),
      calls_length: mostCallsLength,
      traceparent: accepting.traceparent ?? '',
    },
    moreArgs: callDigests(awaited),
  };
  const run = () => acceptScript(redis, input);
  const reply = await (accepting.repeat ? accepting.repeat(run) : run());
  const result = parseAcceptReply(textReply(reply), limits, awaited);
  if (ahead && result.kind !== 'accepted') await redis.unlink(large);
  return result;
}

/** What stays in the record, and what goes ahead of the script because it is too large for one. */
function split({ request, requestJson, input }: PreparedRequest) {
  const requestBytes = Buffer.byteLength(requestJson);
  const inputBytes = Buffer.byteLength(input);
  const isRequestLarge = requestBytes > largeFrom;
  const isInputLarge = inputBytes > largeFrom;
  return {
    requestJson: isRequestLarge ? JSON.stringify(shortMembers(request)) : requestJson,
    inputJson: isInputLarge ? '' : textOf(input),
    ahead:
      isRequestLarge || isInputLarge
        ? {
            parts: [
              ...(isRequestLarge ? [bytesOf(requestJson)] : []),
              ...(isInputLarge ? [bytesOf(input)] : []),
            ],
            requestBytes: isRequestLarge ? requestBytes : 0,
          }
        : undefined,
    weight: weightOf(requestBytes + inputBytes),
  };
}

/**
 * The record that a request continues from; its own, which there is none of yet, when that cannot be one of this cell. A
 * chain stays in its cell.
 */
function previousKey(access: LargeAccess, responseId: string, previousId: string | undefined): string {
  const isHere =
    previousId !== undefined &&
    responseIdSchema.safeParse(previousId).success &&
    cellOf(previousId) === cellOf(responseId);
  return keysOf(access, isHere ? previousId : responseId).record;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
