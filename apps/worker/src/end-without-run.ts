import { trackAll } from '@sluice/contract';
import type { Outcome } from '@sluice/queue';
import type { ClaimEnd, ClaimedRecord } from '@sluice/response-store';
import { Attempt, type AttemptDependencies } from './attempt.ts';
import { concludeClaim } from './conclude-attempt.ts';
import { dropClaim } from './drop-claim.ts';
import { estimatedUsageOf } from './estimated-usage.ts';
import { type EndingResponse, writeEnd, type WriteEndDependencies } from './write-end.ts';

/** Events that a log has before any output: the response was created, waits, and is in progress. */
const eventsWithoutOutput = 3;

/**
 * Ends a response that must not run, or not run again: it was cancelled, ran out of time or attempts, or an earlier
 * attempt died after its output was seen. Items that the attempt left open in the log are closed, so that the stream obeys
 * the grammar.
 */
export async function endWithoutRun(
  dependencies: AttemptDependencies & WriteEndDependencies,
  record: ClaimedRecord,
  because: ClaimEnd,
): Promise<Outcome> {
  // Nobody knows the size of its log before it is read.
  const isMaybeLarge = record.streams && record.sequenceNumber > eventsWithoutOutput;
  const end = () => writeLoggedEnd(dependencies, record, because);
  return isMaybeLarge ? dependencies.largeWrites.run(record, end) : end();
}

async function writeLoggedEnd(
  dependencies: AttemptDependencies & WriteEndDependencies,
  record: ClaimedRecord,
  because: ClaimEnd,
): Promise<Outcome> {
  const attempt = new Attempt(dependencies, record, undefined);
  // A failover may lose the log, and what the record says of it, before the next claim. Numbers begin with 0.
  const hasOutput = record.streams && record.sequenceNumber >= eventsWithoutOutput;
  const isShown = hasOutput || because === 'broken_off';
  try {
    const logged = record.streams ? await dependencies.log.readContentEvents(record.id) : [];
    const ending: EndingResponse = {
      record,
      writer: attempt.writer,
      output: trackAll(logged),
      usageOf: () => null,
      // The run that died had an upstream make it, and it was delivered.
      uncountedOf: (output) => (output.length > 0 ? estimatedUsageOf(record.inputTokens, output) : undefined),
      // An attempt that died between its `error` event and the end has said it.
      hasSaidError: logged.some(({ type }) => type === 'error'),
      because,
      claims: attempt.claims,
      isShown,
    };
    return await writeEnd(dependencies, ending, concludeClaim(because));
  } catch (error) {
    dropClaim(dependencies, record, { claims: attempt.claims, isShown });
    throw error;
  } finally {
    attempt.close();
  }
}
