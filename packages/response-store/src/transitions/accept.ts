import { createHash } from 'node:crypto';
import {
  enterFragments,
  type AdmissionLimits,
  type ExpectedTokens,
  printLimits,
  weightOf,
} from '@sluice/admission';
import type { GivenLimits } from '@sluice/contract/tenant-limits';
import { openToolOutputs, isResponseId } from '@sluice/contract';
import { largeFrom } from '../large-values.ts';
import type { PreparedRequest } from '../prepared-request.ts';
import { cellOf } from '../record/cells.ts';
import { fieldsBy } from '../record/fields.ts';
import { bytesOf, shortMembers, textOf, toldMembers } from '../record/large-value.ts';
import { keysOf, type LargeAccess } from '../record/store-access.ts';
import { callDigests, mostCalls, mostCallsLength, printCalls } from '../record/tool-calls.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { factNames, type FactsFrom, keptNames, numberNames, printFacts } from './accept-facts.ts';
import { type AcceptResult, parseAcceptReply } from './accept-result.ts';

const acceptScript = defineScript({
  by: 'accept',
  kept: keptNames,
  writes: fieldsBy('accept'),
  file: new URL('../../src/transitions/accept.lua', import.meta.url),
  fragments: [...enterFragments, ...fragments('clock')],
  keys: [
    'record',
    'log',
    'open',
    'load',
    'fair',
    'stored_list',
    'idempotency',
    'large',
    'previous_record',
    'outbox',
  ],
  args: factNames,
  numbers: numberNames,
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

/** A response that is to be accepted: the facts of it that the api knows, and what the store makes the others of. */
export interface Accepting extends FactsFrom<'api'> {
  /** With its digest where there is an Idempotency-Key, and with no reference left in its input. */
  prepared: PreparedRequest;
  /** Whether somebody waits in this process for the response. */
  isWatched: boolean;
  limits: AdmissionLimits;
  /** Those that the keys of the tenant say: where it is in several cells, each cell has a part of them. */
  ownLimits: Readonly<GivenLimits>;
  tokens: ExpectedTokens;
  /** The Idempotency-Key and how long it stands for this response; undefined without one. */
  idempotency: { key: string; keepMs: number } | undefined;
  /** Asked for when what is large has arrived, which has a time of its own. */
  deadline: () => number;
  /** Runs the script, and again while its reply is missing; once by default. */
  repeat?: (run: () => Promise<unknown>) => Promise<unknown>;
}

/** The part of an accept that comes from the process that makes it. */
export interface AcceptingProcess {
  lease: string;
  /**
   * Whether to renew the expiry of what its tenant and its queue have beside the response, and to take away a limit of what runs that the tenant
   * has no more; see `renewEveryMs`.
   */
  mustRenew: boolean;
}

/** How often a process renews that expiry at least, in milliseconds. */
export const renewEveryMs = 60_000;

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
 * A request or input that is too large for a script goes ahead of it, over a connection where nobody else waits behind it.
 * It goes once: the value of an accepted response is never written again.
 */
export async function accept(
  access: LargeAccess,
  accepting: Accepting,
  { lease, mustRenew }: AcceptingProcess,
): Promise<AcceptResult> {
  const { id, tenant, queue, limits, tokens, idempotency } = accepting;
  const { request, links, previousId, digest: bodyDigest } = accepting.prepared;
  if (idempotency && bodyDigest === undefined) throw new TypeError('A request with a key has no digest');
  const { redis } = access;
  const { cell, record, log, large } = keysOf(access, id);
  const made = links.flatMap((link) =>
    link.type === 'function_call' || link.type === 'custom_tool_call' ? [link.call_id] : [],
  );
  // No context keeps more calls than that, so one of these is missing if there are more.
  const awaited = [...openToolOutputs(links)].slice(0, mostCalls + 1);
  const { ahead, ...parts } = split(accepting.prepared);
  if (ahead) await access.large.write(large, ahead.parts, aheadMs);
  const input = {
    keys: {
      record,
      log,
      open: cell.open,
      load: cell.load,
      fair: cell.fair(queue),
      stored_list: cell.stored(tenant),
      idempotency: idempotency ? cell.idempotency(tenant, keyDigest(idempotency.key)) : record,
      large: ahead ? large : record,
      previous_record: previousKey(access, id, previousId),
      outbox: cell.outbox,
    },
    args: printFacts({
      ...accepting,
      ...parts,
      grace_ms: accepting.grace_ms === 0 ? undefined : accepting.grace_ms,
      stream: request.stream === true,
      stored: request.store !== false,
      background: request.background === true,
      previous: previousId,
      watchers: accepting.isWatched ? lease : undefined,
      deadline: accepting.deadline(),
      own_limits: printLimits(limits, tokens),
      queued: limits.service.queued,
      queued_bytes: limits.service.queuedBytes,
      digest: idempotency && bodyDigest,
      key_ms: idempotency?.keepMs,
      must_renew: mustRenew ? 1 : undefined,
      request_ahead: ahead?.requestBytes,
      outbox_most: access.outbox?.most,
      calls: printCalls(made),
      calls_length: mostCallsLength,
    }),
    moreArgs: callDigests(awaited),
  };
  const run = () => acceptScript(redis, input);
  const reply = await (accepting.repeat ? accepting.repeat(run) : run());
  const result = parseAcceptReply(textReply(reply), limits, awaited);
  if (ahead && result.kind !== 'accepted') await redis.unlink(large);
  return result;
}

/** Divides a request into what stays in the record and what goes ahead of the script because it is too large for one. */
function split({ request, requestJson, input }: PreparedRequest) {
  const requestBytes = Buffer.byteLength(requestJson);
  const inputBytes = Buffer.byteLength(input);
  const isRequestLarge = requestBytes > largeFrom;
  const isInputLarge = inputBytes > largeFrom;
  return {
    request: isRequestLarge
      ? JSON.stringify({ ...shortMembers(request), ...toldMembers(request) })
      : requestJson,
    input: isInputLarge ? '' : textOf(input),
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
    previousId !== undefined && isResponseId(previousId) && cellOf(previousId) === cellOf(responseId);
  return keysOf(access, isHere ? previousId : responseId).record;
}

/** The name under which an Idempotency-Key is kept, which does not tell it. */
export function keyDigest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
