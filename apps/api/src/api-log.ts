import { loggedError, type Logger, type Telemetry } from '@sluice/runtime';

/** Writes to the log what an operator wants to know of an api. */
export function logApi(telemetry: Telemetry, logger: Logger): void {
  telemetry.on('caller.left', ({ responseId, requestId, reason }) => {
    const message = reason === 'caller_left' ? 'caller left' : 'caller cut off: the process stops';
    logger.info({ reqId: requestId, responseId }, message);
  });
  telemetry.on('index.ended', ({ error }) => logger.warn({ err: loggedError(error) }, 'index thread ended'));
}
