import { LineThrottle, type Logger, memoize, type Telemetry } from '@sluice/runtime';

/** Logs the facts about a worker that an operator needs. */
export function logWorker(telemetry: Telemetry, logger: Pick<Logger, 'info' | 'warn' | 'error'>): void {
  telemetry.on('claim.unanswered', ({ responseId, error }) =>
    logger.warn({ responseId, err: error }, 'claim got no answer: trying again'),
  );
  telemetry.on('attempt.failed', ({ error, model: _, ...fields }) => {
    // Any other failure comes from an upstream, and is expected.
    const isOurs = fields.code === 'server_error';
    logger[isOurs ? 'error' : 'warn']({ ...fields, err: error }, 'attempt failed');
  });
  telemetry.on('attempt.superseded', ({ responseId, attempt }) =>
    logger.warn({ responseId, attempt }, 'attempt superseded'),
  );
  telemetry.on('attempt.given_up', ({ responseId, attempt }) =>
    logger.warn({ responseId, attempt }, 'attempt given up: Redis does not answer'),
  );
  telemetry.on('attempt.given_back', ({ responseId, attempt }) =>
    logger.info({ responseId, attempt }, 'attempt given back'),
  );
  // An upstream that flaps must not fill the log, so lines of one kind are throttled; each says how many were left out.
  const throttleOf = memoize((_provider: string, _what: string) => new LineThrottle());
  telemetry.on('upstream.breaker', ({ state, openMs, ...about }) => {
    if (state === 'half_open') return;
    const suppressed = throttleOf(nameOf(about), state).pass();
    if (suppressed === undefined) return;
    if (state === 'closed') logger.info({ ...about, suppressed }, 'upstream is back');
    else
      logger.warn({ ...about, openMs: Math.ceil(openMs), suppressed }, 'upstream is down: it gets no calls');
  });
  telemetry.on('upstream.parked', ({ parkedMs, ...about }) => {
    const suppressed = throttleOf(nameOf(about), 'parked').pass();
    if (suppressed === undefined) return;
    logger.warn(
      { ...about, parkedMs: Math.ceil(parkedMs), suppressed },
      'upstream limits calls: it gets none for a while',
    );
  });
  telemetry.on('upstream.saturated', ({ isSaturated, ...fields }) => {
    const suppressed = throttleOf(nameOf(fields), `saturated ${isSaturated}`).pass();
    if (suppressed === undefined) return;
    const message = isSaturated
      ? 'upstream has too many waiting: it gets no more for now'
      : 'upstream has room again';
    logger.info({ ...fields, suppressed }, message);
  });
  telemetry.on('upstream.metrics', ({ fault, ...about }) => {
    if (fault === undefined) logger.info(about, 'metrics of the upstream can be read');
    else logger.warn({ ...about, fault }, 'metrics of the upstream cannot be read: nothing is held back');
  });
  telemetry.on('response.ended', ({ responseId, because, status }) => {
    if (because !== undefined) logger.info({ responseId, because, status }, 'response ended without a run');
  });
  telemetry.on('response.end_refused', ({ model: _, ...fields }) => logger.warn(fields, 'end not written'));
}

function nameOf({
  provider,
  server = '',
  upstreamModel = '',
}: {
  provider: string;
  server?: string;
  upstreamModel?: string;
}): string {
  return `${provider} ${server} ${upstreamModel}`;
}
