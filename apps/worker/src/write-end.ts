import {
  cancelled,
  completed,
  errorEvent,
  failed,
  incomplete,
  type OpenOutput,
  type OutputItem,
  type ResponseEnd,
  type Usage,
} from '@sluice/contract';
import type { ClaimedRecord } from '@sluice/response-store';
import type { Outcome } from '@sluice/queue';
import type { Telemetry } from '@sluice/runtime';
import { about, writeEach } from './attempt.ts';
import { closeOutput } from './close-output.ts';
import type { EndPlan } from './conclude-attempt.ts';
import { failureOf } from './failure.ts';
import type { AttemptWriter } from './response-log.ts';
import type { RunningAttempts } from './running-attempts.ts';

/** A response whose end is to be written, with its output. */
export interface EndingResponse {
  record: ClaimedRecord;
  writer: AttemptWriter;
  output: OpenOutput;
  /** Counts the tokens of the output once all of it is closed. */
  usageOf: (output: readonly OutputItem[]) => Usage | null;
  /** An estimate of a run that was broken off before its upstream counted its tokens; undefined when it had no output. */
  uncountedOf: (output: readonly OutputItem[]) => Usage | undefined;
  /** Key of the server that ran it, where its provider has several. */
  server?: string | undefined;
  /** The text of `stop` before which its model has stopped. */
  stopSequence?: string | undefined;
  /** Whether an `error` event is in the log already. */
  hasSaidError: boolean;
  /** Why it ends without a run; undefined after one. */
  because: string | undefined;
  /** The tokens of its claims; see `RouteHistory`. */
  claims: readonly string[];
  /** Whether a reader may have seen output of its run. */
  isShown: boolean;
}

export interface WriteEndDependencies {
  running: Pick<RunningAttempts, 'releaseAllLater'>;
  telemetry: Telemetry;
  /** The store's clock, in milliseconds since the epoch. */
  storeNow: () => number;
}

/**
 * Writes the end of a response: closes the items that are open, writes the error, and ends. Nothing else in a worker writes
 * an end. Only the first end of a response counts, and only then is the queue told of a failure.
 */
export async function writeEnd(
  { running, telemetry, storeNow }: WriteEndDependencies,
  ending: EndingResponse,
  plan: EndPlan,
): Promise<Outcome> {
  const { record, writer, output } = ending;
  const closing = closeOutput(output, plan.status, { isFollowed: record.streams });
  await writeEach(writer, closing);
  const end = endOf(plan, ending, Math.floor(storeNow() / 1000));
  if (end.error && record.streams && !ending.hasSaidError) writer.write(errorEvent(end.error));
  const uncounted = end.usage ? undefined : ending.uncountedOf(output.fold.items);
  const result = await writer.end(end, { uncounted, server: ending.server });
  if (result !== 'ok') {
    // `superseded` may also mean that nobody knows, because the store was silent to the last. After a `gap` the lease is still ours.
    if (result === 'superseded' || result === 'gap') running.releaseAllLater(record.id, ending);
    telemetry.emit('response.end_refused', { ...about(record), status: end.status, result });
    return { kind: 'settled' };
  }
  telemetry.emit('response.ended', {
    ...about(record),
    tenant: record.tenant,
    status: end.status,
    code: end.error?.code,
    because: ending.because,
    inputTokens: end.usage?.input_tokens,
    outputTokens: end.usage?.output_tokens,
    ranMs:
      ending.because === undefined && record.startedAt !== undefined
        ? storeNow() - record.startedAt
        : undefined,
  });
  return plan.status === 'failed' ? { kind: 'failed', code: plan.code } : { kind: 'settled' };
}

function endOf(plan: EndPlan, ending: EndingResponse, nowSeconds: number): ResponseEnd {
  const output = ending.output.fold.items;
  const produced = { output, usage: ending.usageOf(output) };
  switch (plan.status) {
    case 'completed':
      return completed(produced, nowSeconds, ending.stopSequence);
    case 'incomplete':
      return incomplete(produced, plan.reason);
    case 'cancelled':
      return cancelled(produced);
    case 'failed':
      return failed(produced, failureOf(ending.record, plan.code, plan.sentence, plan.param));
  }
}
