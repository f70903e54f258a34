import { admissionFragments } from '@sluice/admission';
import {
  errorEvent,
  eventTypeOf,
  isToolCall,
  type ResponseEnd,
  type Status,
  statusesBefore,
} from '@sluice/contract';
import { readShortRecord } from '../reading/read-record.ts';
import { printEnd } from '../record/end-json.ts';
import type { ResponseRecord } from '../record/record.ts';
import { type Retention, retentionOf, type RetentionSettings } from '../record/retention.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { mostCallsLength, printCalls } from '../record/tool-calls.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { parseLetIn } from './let-in.ts';
import { numberedEvent } from './numbered-event.ts';

const finishScript = defineScript({
  by: 'attempt',
  writes: ['status', 'context_bytes', 'context_calls', 'context_tokens', 'seq', 'result', 'tag', 'held'],
  file: new URL('../../src/transitions/finish.lua', import.meta.url),
  fragments: [...admissionFragments, ...fragments('clock', 'watchers', 'let-in')],
  keys: ['record', 'log', 'open', 'load', 'large'],
  args: [
    'id',
    'token',
    'first',
    'status',
    'before',
    'result',
    'record_ms',
    'log_ms',
    'now',
    'tokens',
    'calls',
    'calls_length',
  ],
  numbers: ['first', 'record_ms', 'log_ms', 'now', 'tokens', 'calls_length'],
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
  /** The end as `printEnd` made it. */
  result: string;
  /** Tokens that it took, of input and output; undefined when nobody counted them. */
  tokens: number | undefined;
  /** Ids of the tool calls in the output. */
  toolCalls: readonly string[];
  retention: Retention;
  /** The time by the store's clock, in milliseconds; undefined to ask the store, which is one command more. */
  now?: number | undefined;
}

/** The ids of the tool calls that an end brings. */
export function toolCallsIn({ output }: ResponseEnd): string[] {
  return output.flatMap((item) => (isToolCall(item) ? [item.call_id] : []));
}

/** The tokens that a response took by its end: none unless an upstream has counted them, or the output is whole. */
export function tokensOf({ status, usage }: ResponseEnd): number | undefined {
  return usage?.total_tokens ?? (status === 'completed' || status === 'incomplete' ? undefined : 0);
}

const words = ['ok', 'superseded', 'terminal', 'missing', 'gap'] as const;

/** `ok` when this end is the one that counts; otherwise why it does not. */
export type FinishResult = (typeof words)[number];

/**
 * Ends a response, in one atomic step with everything that shows it.
 *
 * Repeating a call after a lost reply changes nothing and answers `ok` again. The first end wins; a later one gets
 * `terminal`. A writer whose lease has passed to another gets `superseded`.
 */
export async function finish(
  access: StoreAccess,
  responseId: string,
  { token, sequenceNumber, streams, events, status, result, tokens, toolCalls, retention, now }: Finish,
): Promise<FinishResult> {
  const { cell, record, log, large } = keysOf(access, responseId);
  const reply = await finishScript(access.redis, {
    keys: { record, log, open: cell.open, load: cell.load, large },
    args: {
      id: responseId,
      token,
      first: sequenceNumber,
      status,
      before: statusesBefore(status).join(' '),
      result,
      record_ms: retention.recordMs,
      log_ms: retention.logMs,
      now: now ?? '',
      tokens: tokens ?? '',
      calls: printCalls(toolCalls),
      calls_length: mostCallsLength,
    },
    ...(streams && { moreArgs: [...events, `{"type":"${eventTypeOf(status)}"}`] }),
  });
  const [first, ...letIn] = Array.isArray(reply) ? textReply(reply) : [String(reply)];
  access.onLetIn?.(parseLetIn(letIn));
  const word = words.find((each) => each === first);
  if (!word) throw new TypeError(`The finish script answered '${String(reply)}'`);
  return word;
}

/**
 * Ends a response that no worker has taken. Nothing happens when one has by now, or when it has ended or is gone. A
 * stream that fails gets its `error` event in the same step, because clients miss a failure without it.
 *
 * @returns the record as it was found, for the queue it names; undefined when there is none. Of a large request it has the
 *   short members alone.
 */
export async function finishQueued(
  access: StoreAccess,
  responseId: string,
  end: ResponseEnd,
  settings: RetentionSettings,
): Promise<ResponseRecord | undefined> {
  const record = await readShortRecord(access, responseId);
  if (record?.status !== 'queued') return record;
  const sequenceNumber = record.sequenceNumber + 1;
  const result = await finish(access, responseId, {
    token: '',
    sequenceNumber,
    streams: record.streams,
    events: end.error && record.streams ? [numberedEvent(errorEvent(end.error), sequenceNumber)] : [],
    status: end.status,
    result: printEnd({ responseId, sequenceNumber, end }),
    tokens: tokensOf(end),
    toolCalls: toolCallsIn(end),
    retention: retentionOf(record.request, settings),
  });
  const { tenant, request } = record;
  if (result === 'ok') access.onQueuedEnd?.({ responseId, tenant, model: request.model, end });
  return record;
}
