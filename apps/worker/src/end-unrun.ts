import {
  errorEvent,
  cancelled,
  closeAll,
  type FailureCode,
  failed,
  follow,
  followAll,
  type ResponseEnd,
} from '@sluice/contract';
import type { ClaimEnd, ClaimedRecord } from '@sluice/event-log';
import type { Outcome } from '@sluice/queue';
import type { ExecuteDependencies } from './execute-response.ts';
import { failureOf } from './failure.ts';

const failureOfClaim = {
  expired: 'timeout',
  broken_off: 'server_error',
  exhausted: 'server_error',
} as const satisfies Record<Exclude<ClaimEnd, 'cancelled'>, FailureCode>;

const partial =
  'The worker that ran this response died after part of its output was sent. The output is partial; a retry is safe.';

/**
 * Ends a response that must not run (again): it was cancelled, ran out of time or attempts, or an earlier
 * attempt died after its output was seen. What that attempt left open in the log is closed first, so the stream
 * obeys the grammar and nobody is shown two answers spliced together.
 */
export async function endUnrun(
  { log, observer, logger, running }: Pick<ExecuteDependencies, 'log' | 'observer' | 'logger' | 'running'>,
  record: ClaimedRecord,
  token: string,
  because: ClaimEnd,
  lockLost: AbortSignal,
): Promise<Outcome> {
  const controller = new AbortController();
  const remove = running.add(record.id, token, controller);
  try {
    const signal = AbortSignal.any([controller.signal, lockLost]);
    return await writeEnd({ log, observer, logger }, record, token, because, signal);
  } finally {
    remove();
  }
}

/** Gives up when the signal is aborted while the store does not answer; whoever claims next does it again. */
async function writeEnd(
  { log, observer, logger }: Pick<ExecuteDependencies, 'log' | 'observer' | 'logger'>,
  record: ClaimedRecord,
  token: string,
  because: ClaimEnd,
  signal: AbortSignal,
): Promise<Outcome> {
  const logged = record.streams ? await log.contentEvents(record.id) : [];
  const output = followAll(logged);
  const writer = log.writer(record, token, {
    onRefused: () => undefined,
    signal,
  });
  for (const event of closeAll(output)) {
    follow(output, event);
    writer.write(event);
  }
  const produced = { output: output.fold.items, usage: null };
  let end: ResponseEnd;
  let code: FailureCode | undefined;
  if (because === 'cancelled') {
    end = cancelled(produced);
  } else {
    code = failureOfClaim[because];
    const error = failureOf(record, code, because === 'broken_off' ? partial : undefined);
    // An attempt that died between its `error` event and the end has said it already.
    if (!logged.some((event) => event.type === 'error')) writer.write(errorEvent(error));
    end = failed(produced, error);
  }
  const result = await writer.end(end);
  logger.info({ responseId: record.id, because, result }, 'response ended without another attempt');
  if (result === 'ok') observer.ended(record.request.model, end.status, end);
  return code ? { kind: 'failed', code } : { kind: 'settled' };
}
