import { admissionFragments } from '@sluice/admission';
import {
  errorEvent,
  eventTypeOf,
  isTerminal,
  isToolCall,
  type ResponseEnd,
  type Status,
  type Usage,
  statusesBefore,
} from '@sluice/contract';
import { printTold } from '../outbox/told-end.ts';
import { printEnd } from '../record/end-json.ts';
import { writtenMs } from '../record/long-event.ts';
import { type FieldName, parseFields, recordVersion, storedNames } from '../record/fields.ts';
import type { StoredRequest } from '../record/record.ts';
import { type Retention, retentionOf, type RetentionSettings } from '../record/retention.ts';
import { keysOf, type LargeAccess, type StoreAccess } from '../record/store-access.ts';
import { mostCallsLength, printCalls } from '../record/tool-calls.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import type { CancelReason } from './cancel.ts';
import { parseLetIn } from './let-in.ts';
import { lifecycleEvent, numberedEvent } from './numbered-event.ts';

const finishScript = defineScript({
  by: 'attempt',
  writes: [
    'cancel',
    'status',
    'context_bytes',
    'context_calls',
    'context_tokens',
    'seq',
    'result',
    'end_bytes',
    'tag',
    'held',
    'long_events',
    'server',
  ],
  file: new URL('../../src/transitions/finish.lua', import.meta.url),
  fragments: [...admissionFragments, ...fragments('clock', 'watchers', 'let-in', 'long-events')],
  keys: ['record', 'log', 'open', 'load', 'large', 'outbox'],
  args: [
    'id',
    'token',
    'first',
    'status',
    'before',
    'result',
    'end_bytes',
    'record_ms',
    'log_ms',
    'now',
    'tokens',
    'counted',
    'calls',
    'calls_length',
    'reason',
    'server',
    'told',
    'outbox_most',
    'outbox_ends',
  ],
  numbers: ['first', 'end_bytes', 'record_ms', 'log_ms', 'now', 'tokens', 'calls_length', 'outbox_most'],
});

export interface Finish {
  /** The lease; empty for an end that is written while nobody runs the response. */
  token: string;
  /** Number of the first event, one more than the last in the log. */
  sequenceNumber: number;
  /** Whether events are logged; the event that ends the response is added behind `events`. */
  streams: boolean;
  events: readonly string[];
  status: Status;
  /** The end as `printEnd` made it, or how many bytes of it `writeLongEnd` has written. */
  result: string | { bytes: number };
  /** The tokens that it took; undefined when nobody counted them. See `countOf`. */
  counted: TokenCount | undefined;
  /** Ids of the tool calls in the output. */
  toolCalls: readonly string[];
  /** What the outbox tells of the end beside what its record says; see `printTold`. */
  told: string;
  /** Key of the server that ran it, where its provider has several. */
  server?: string | undefined;
  retention: Retention;
  /** Why somebody asked for this end; undefined when that is known already, or nobody did. */
  reason?: CancelReason | undefined;
  /** The time by the store's clock, in milliseconds; undefined to ask the store, which is one command more. */
  now?: number | undefined;
}

/** The ids of the tool calls that an end brings. */
export function toolCallsIn({ output }: ResponseEnd): string[] {
  return output.flatMap((item) => (isToolCall(item) ? [item.call_id] : []));
}

/** Tokens of a response. The input has all of what came from a cache, and of what was written to one. */
export interface TokenCount {
  input: number;
  cached: number;
  cacheWrite: number;
  output: number;
  total: number;
}

/**
 * The tokens that a response took by its end, as an upstream has counted them, or else as its run estimates them. Without either it took
 * none, unless its output is whole.
 */
export function countOf({ status, usage }: ResponseEnd, uncounted?: Usage): TokenCount | undefined {
  const counted = usage ?? uncounted;
  if (counted)
    return {
      input: counted.input_tokens,
      cached: counted.input_tokens_details.cached_tokens,
      cacheWrite: counted.input_tokens_details.cache_write_tokens,
      output: counted.output_tokens,
      total: counted.total_tokens,
    };
  if (status === 'completed' || status === 'incomplete') return undefined;
  return { input: 0, cached: 0, cacheWrite: 0, output: 0, total: 0 };
}

function printCounted({ input, cached, cacheWrite, output }: TokenCount): string {
  return [input, cached, cacheWrite, output].join(' ');
}

/**
 * Writes a long end to where `finish` finds it, in pieces: a script that brings 15 MB holds up everybody for 40 ms, and the
 * append-only file for as long again. An attempt that was superseded has written it for nobody, and it expires.
 */
export async function writeLongEnd(
  { ends, keys }: Pick<LargeAccess, 'ends' | 'keys'>,
  { responseId, token }: { responseId: string; token: string },
  end: Buffer,
): Promise<void> {
  await ends.write(keys.of(responseId).endOf(responseId, token), [end], writtenMs);
}

const words = ['ok', 'superseded', 'terminal', 'missing', 'gap'] as const;

/** `ok` when this end is the one that counts; otherwise why it does not. */
export type FinishResult = (typeof words)[number];

/**
 * Ends a response, in one atomic step with everything that shows it.
 *
 * Repeating a call after a lost reply changes nothing and answers `ok` again. The first end wins; a later one gets
 * `terminal`. A writer whose lease has passed to another gets `superseded`.
 *
 * @throws {Error} when a long end or event is not where it was written any more: it is to be written again.
 */
export async function finish(
  access: StoreAccess,
  responseId: string,
  {
    token,
    sequenceNumber,
    streams,
    events,
    status,
    result,
    counted,
    toolCalls,
    told,
    server,
    retention,
    reason,
    now,
  }: Finish,
): Promise<FinishResult> {
  const { cell, record, log, large, end } = keysOf(access, responseId);
  const isApart = typeof result !== 'string';
  const reply = await finishScript(access.redis, {
    keys: { record, log, open: cell.open, load: cell.load, large, outbox: cell.outbox },
    args: {
      id: responseId,
      token,
      first: sequenceNumber,
      status,
      before: statusesBefore(status).join(' '),
      result: isApart ? '' : result,
      end_bytes: isApart ? result.bytes : '',
      record_ms: retention.recordMs,
      log_ms: retention.logMs,
      now: now ?? '',
      tokens: counted?.total ?? '',
      counted: counted ? printCounted(counted) : '',
      calls: printCalls(toolCalls),
      calls_length: mostCallsLength,
      reason: reason ?? '',
      server: server ?? '',
      told: access.outbox ? told : '',
      outbox_most: access.outbox?.most ?? '',
      outbox_ends: access.outbox?.ends ?? '',
    },
    ...(isApart && { moreKeys: [cell.endOf(responseId, token), end] }),
    ...(streams && { moreArgs: [...events, lifecycleEvent(eventTypeOf(status))] }),
  });
  const [first, ...letIn] = Array.isArray(reply) ? textReply(reply) : [String(reply)];
  access.onLetIn?.(parseLetIn(letIn));
  if (first === 'lost') throw new WrittenValueLost('What was written of a long end or event is gone');
  const word = words.find((each) => each === first);
  if (!word) throw new TypeError(`The finish script answered '${String(reply)}'`);
  return word;
}

/** A value that was written before an end is not there, or not all of it: it has to be written again. */
export class WrittenValueLost extends Error {
  override readonly name = 'WrittenValueLost';
}

/** The outcome for a response that was to end if it still waited. */
export type QueuedEnding =
  /** It has ended by this call. Its job is still in this queue. */
  | { kind: 'ended'; queue: string }
  /** It had ended before, perhaps by a call whose reply was lost: its job may still be in this queue. */
  | { kind: 'terminal'; queue: string | undefined }
  /** A worker has it, or had it and gave it back. */
  | { kind: 'begun' }
  | { kind: 'missing' }
  /** Left to processes of the release that wrote it. */
  | { kind: 'unknown_version' };

const queuedFields = [
  'version',
  'tenant',
  'queue',
  'stream',
  'stored',
  'background',
  'status',
  'seq',
  'request',
] satisfies FieldName[];

/**
 * Ends a response that no worker has taken, and leaves any other as it is: one read and one script. Doing it twice changes
 * nothing.
 *
 * A stream that fails gets its `error` event in the same step, because clients miss a failure without it. `reason` is kept
 * for those who wait for the response, who are told of a cancellation that nobody asked for as a failure.
 */
export async function endIfQueued(
  access: StoreAccess,
  responseId: string,
  end: ResponseEnd,
  { retention, reason }: { retention: RetentionSettings; reason?: CancelReason | undefined },
): Promise<QueuedEnding> {
  const { record } = keysOf(access, responseId);
  const found = parseFields(queuedFields, await access.redis.hmget(record, ...storedNames(queuedFields)));
  const { version, status, tenant, queue, seq, request } = found;
  if (status === undefined) return { kind: 'missing' };
  if (version !== recordVersion) return { kind: 'unknown_version' };
  if (isTerminal(status)) return { kind: 'terminal', queue };
  if (status !== 'queued') return { kind: 'begun' };
  if (tenant === undefined || queue === undefined || seq === undefined || request === undefined) {
    throw new TypeError(`The record of ${responseId} lacks a field that every accept writes`);
  }
  const streams = found.stream === true;
  const sequenceNumber = seq + 1;
  const asked = JSON.parse(request) as StoredRequest; // written by the accept
  const result = await finish(access, responseId, {
    token: '',
    sequenceNumber,
    streams,
    events: end.error && streams ? [numberedEvent(errorEvent(end.error), sequenceNumber)] : [],
    status: end.status,
    result: printEnd({ responseId, sequenceNumber, end }),
    counted: countOf(end),
    toolCalls: toolCallsIn(end),
    told: printTold({ request: asked, label: access.outbox?.label, end }),
    retention: retentionOf({ store: found.stored, background: found.background }, retention),
    reason,
  });
  if (result === 'missing') return { kind: result };
  if (result === 'terminal') return { kind: result, queue };
  // Between the read and the script a worker took it. It may have given it back since, and then has noted another event.
  if (result !== 'ok') return { kind: 'begun' };
  access.onQueuedEnd?.({ responseId, tenant, model: asked.model, end });
  return { kind: 'ended', queue };
}
