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
  telemetry.on('upstream.breaker', ({ provider, upstreamModel, state, openMs }) => {
    if (state === 'half_open') return;
    const suppressed = throttleOf(`${provider} ${upstreamModel ?? ''}`, state).pass();
    if (suppressed === undefined) return;
    const about = { provider, ...(upstreamModel !== undefined && { upstreamModel }) };
    if (state === 'closed') logger.info({ ...about, suppressed }, 'upstream is back');
    else
      logger.warn({ ...about, openMs: Math.ceil(openMs), suppressed }, 'upstream is down: it gets no calls');
  });
  telemetry.on('upstream.parked', ({ provider, upstreamModel, parkedMs }) => {
    const suppressed = throttleOf(provider, `parked ${upstreamModel}`).pass();
    if (suppressed === undefined) return;
    const fields = { provider, upstreamModel, parkedMs: Math.ceil(parkedMs), suppressed };
    logger.warn(fields, 'upstream limits calls: it gets none for a while');
  });
  telemetry.on('upstream.saturated', ({ isSaturated, ...fields }) => {
    const suppressed = throttleOf(fields.provider, `saturated ${fields.upstreamModel} ${isSaturated}`).pass();
    if (suppressed === undefined) return;
    const message = isSaturated
      ? 'upstream has too many waiting: it gets no more for now'
      : 'upstream has room again';
    logger.info({ ...fields, suppressed }, message);
  });
  telemetry.on('upstream.metrics', ({ provider, fault }) => {
    if (fault === undefined) logger.info({ provider }, 'metrics of the upstream can be read');
    else logger.warn({ provider, fault }, 'metrics of the upstream cannot be read: nothing is held back');
  });
  telemetry.on('response.ended', ({ responseId, because, status }) => {
    if (because !== undefined) logger.info({ responseId, because, status }, 'response ended without a run');
  });
  telemetry.on('response.end_refused', ({ model: _, ...fields }) => logger.warn(fields, 'end not written'));
}
