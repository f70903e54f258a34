import { hostname } from 'node:os';
import type { Telemetry } from '@sluice/runtime';
import { subjectOfQueue, subjectOfResponse } from './journal-line.ts';
import { JournalWriter, type JournalWriterOptions } from './journal-writer.ts';
import { digestsOf } from './metadata-digests.ts';

/** Postponed responses that are remembered. Beyond that, the oldest is forgotten and may get the same line again. */
const mostPostponed = 10_000;

/** Keeps the journal of a process, if the settings say so. `now` is the store's clock. The caller stops the result. */
export function openJournal(
  telemetry: Telemetry,
  {
    settings,
    now,
    ...options
  }: Omit<JournalWriterOptions, 'keep'> & {
    settings: { journal: boolean; keep: number };
    now: () => number;
  },
): JournalWriter | undefined {
  if (!settings.journal) return undefined;
  const writer = new JournalWriter({ ...options, keep: settings.keep });
  keepJournal(telemetry, writer, now);
  return writer;
}

/**
 * Writes to the journal the events of responses in this process. `now` is the store's clock.
 *
 * A response that is postponed again for the same reason gets no further line: it may be claimed every few seconds for a
 * day, and thousands of such lines would push everything else out of the journal.
 */
export function keepJournal(
  telemetry: Telemetry,
  writer: Pick<JournalWriter, 'write' | 'takeBack'>,
  now: () => number,
): void {
  const postponed = new Map<string, string>();
  const say: Say = (responseId, line) => writer.write(subjectOfResponse(responseId), line);
  keepAttempts(telemetry, { writer, now, say, postponed });
  telemetry.on('response.accepted', ({ responseId, metadata, acceptedAt, ...of }) => {
    const { tenant, model, tier, mode, requestId, isInLine } = of;
    const digests = digestsOf(metadata);
    say(responseId, {
      what: 'accepted',
      at: acceptedAt,
      tenant,
      model,
      tier,
      mode,
      requestId,
      isInLine,
      digests,
    });
  });
  telemetry.on('response.repeated', ({ responseId, copyId }) => {
    say(responseId, { what: 'retried_as', at: now(), other: copyId });
    say(copyId, { what: 'retry_of', at: now(), other: responseId });
  });
  telemetry.on('response.let_in', ({ responseId }) => say(responseId, { what: 'let_in', at: now() }));
  telemetry.on('claim.crowded', ({ responseId }) => say(responseId, { what: 'crowded', at: now() }));
  telemetry.on('response.taken_back', ({ responseId }) => say(responseId, { what: 'taken_back', at: now() }));
  telemetry.on('response.end_refused', ({ responseId, attempt, status, result }) =>
    say(responseId, { what: 'end_refused', at: now(), attempt, status, result }),
  );
  telemetry.on('response.ended', ({ responseId, ...of }) => {
    const { attempt, status, code, because, inputTokens, outputTokens } = of;
    postponed.delete(responseId);
    say(responseId, {
      what: 'ended',
      at: now(),
      attempt,
      status,
      code,
      because,
      inputTokens,
      outputTokens,
    });
  });
  telemetry.on('queue.paused', ({ queue, isPaused }) =>
    writer.write(subjectOfQueue(queue), { what: 'paused', at: now(), isPaused }),
  );
}

type Say = (responseId: string, line: Parameters<JournalWriter['write']>[1]) => void;

interface AttemptsKeeping {
  writer: Pick<JournalWriter, 'takeBack'>;
  now: () => number;
  say: Say;
  /** Why each response was postponed last. */
  postponed: Map<string, string>;
}

function keepAttempts(telemetry: Telemetry, { writer, now, say, postponed }: AttemptsKeeping): void {
  telemetry.on('attempt.claimed', ({ responseId, ...of }) => {
    const { attempt, worker, tenant, model, tier, mode, acceptedAt, claimedAt } = of;
    say(responseId, {
      what: 'claimed',
      // As the record has it, for a process that reads that before this line.
      at: claimedAt,
      attempt,
      worker,
      tenant,
      model,
      tier,
      mode,
      acceptedAt,
      // The names under which the processes of the service are listed.
      host: hostname(),
      pid: process.pid,
    });
  });
  telemetry.on('attempt.blocked', ({ responseId, attempt, because }) =>
    say(responseId, { what: 'blocked', at: now(), attempt, because }),
  );
  telemetry.on('attempt.called', ({ responseId, attempt, provider, upstreamModel }) => {
    postponed.delete(responseId);
    say(responseId, { what: 'called', at: now(), attempt, provider, upstreamModel });
  });
  telemetry.on('attempt.first_token', ({ responseId, attempt }) =>
    say(responseId, { what: 'first_output', at: now(), attempt }),
  );
  telemetry.on('attempt.failed', ({ responseId, attempt, provider, code, upstreamStatus, reason }) =>
    say(responseId, { what: 'failed', at: now(), attempt, provider, code, upstreamStatus, reason }),
  );
  telemetry.on('attempt.retried', ({ responseId, attempt, code, delayMs }) =>
    say(responseId, { what: 'retried', at: now(), attempt, code, delayMs: Math.round(delayMs) }),
  );
  telemetry.on('attempt.postponed', ({ responseId, attempt, because, afterMs }) => {
    const wasToldSo = postponed.get(responseId) === because;
    if (wasToldSo && writer.takeBack(subjectOfResponse(responseId), 'claimed')) return;
    remember(postponed, responseId, because);
    say(responseId, { what: 'postponed', at: now(), attempt, because, afterMs: Math.round(afterMs) });
  });
  telemetry.on('attempt.given_back', ({ responseId, attempt }) =>
    say(responseId, { what: 'given_back', at: now(), attempt }),
  );
  telemetry.on('attempt.given_up', ({ responseId, attempt }) =>
    say(responseId, { what: 'given_up', at: now(), attempt }),
  );
  telemetry.on('attempt.superseded', ({ responseId, attempt }) =>
    say(responseId, { what: 'superseded', at: now(), attempt }),
  );
}

function remember(postponed: Map<string, string>, responseId: string, because: string): void {
  postponed.delete(responseId);
  postponed.set(responseId, because);
  if (postponed.size <= mostPostponed) return;
  const [oldest] = postponed.keys();
  if (oldest !== undefined) postponed.delete(oldest);
}
