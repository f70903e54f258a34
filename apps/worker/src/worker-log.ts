import type { Logger, Telemetry } from '@sluice/runtime';

/** Writes to the log what an operator wants to know of a worker. */
export function logWorker(telemetry: Telemetry, logger: Pick<Logger, 'info' | 'warn' | 'error'>): void {
  telemetry.on('claim.unanswered', ({ responseId, error }) =>
    logger.warn({ responseId, err: error }, 'claim got no answer: trying again'),
  );
  telemetry.on('attempt.failed', ({ error, model: _, ...fields }) => {
    // Anything else is an upstream's doing, and was foreseen.
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
  telemetry.on('response.ended', ({ responseId, because, status }) => {
    if (because !== undefined) logger.info({ responseId, because, status }, 'response ended without a run');
  });
  telemetry.on('response.end_refused', ({ model: _, ...fields }) => logger.warn(fields, 'end not written'));
}
