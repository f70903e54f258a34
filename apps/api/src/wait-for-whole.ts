import { isErrorCode, type Response, type ResponseEnd, ServiceError, withEnd } from '@sluice/contract';
import type { PendingEnd } from '@sluice/event-log';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CallerWait } from './caller-wait.ts';
import { type Dialect, responseBody } from './dialect.ts';
import { httpStatus } from './plugins/error-handler.ts';
import type { ResponseService } from './response-service.ts';

/** How long a caller is asked to wait after an overload, in milliseconds. */
const overloadedMs = 1_000;

export interface WaitForWholeOptions {
  service: ResponseService;
  dialect: Dialect;
  request: FastifyRequest;
  reply: FastifyReply;
  responseId: string;
  /** Listens for the end since before the response was accepted, or attached to. */
  pending: PendingEnd;
  accepted: Response;
  syncWaitMs: number;
  /** Aborted when this process cannot wait any longer. */
  interrupted: AbortSignal;
}

/**
 * Answers a synchronous call: waits for the end of its response and sends the whole of it. A caller who leaves
 * ends the response, unless somebody else wants it; so does one who has waited too long.
 */
export async function waitForWhole(options: WaitForWholeOptions): Promise<FastifyReply> {
  const { service, dialect, request, reply, responseId, pending, interrupted, syncWaitMs } = options;
  const wait = new CallerWait(reply, { interrupted, withinMs: syncWaitMs });
  let hasEnded = false;
  try {
    const end = await pending.ended(wait.signal);
    hasEnded = true;
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(responseBody(dialect, finished(options.accepted, end)));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    if (wait.ending === 'caller_left') {
      request.log.info({ responseId }, 'caller left');
      return reply;
    }
    if (wait.ending === 'interrupted') throw stopping(error);
    if (wait.ending !== 'timed_out') throw error;
    await service.ending.timedOut(responseId);
    throw waitedTooLong(syncWaitMs);
  } finally {
    wait.stop();
    pending.close();
    if (hasEnded) {
      const { store: isStored } = options.accepted;
      service.ending.delivered({ id: responseId, tenant: request.caller.name, isStored });
    } else {
      service.ending.callerLeft(responseId, { isInterrupted: wait.ending === 'interrupted' });
    }
  }
}

/** The response with its end; a failed one is an error to whoever waited for it. */
function finished(response: Response, end: ResponseEnd | undefined): Response {
  if (!end) {
    throw new ServiceError('server_error', 'The response is no longer there.', { shouldRetry: false });
  }
  if (end.status !== 'failed' || !end.error) return withEnd(response, end);
  const { code, message, param } = end.error;
  const known = isErrorCode(code) ? code : 'server_error';
  throw new ServiceError(known, message, {
    ...(param !== null && { param }),
    // Its attempts are used up: an SDK that tried again by itself would only multiply the load.
    ...(httpStatus[known] >= 500 && { shouldRetry: false }),
    ...(known === 'server_is_overloaded' && { retryAfterMs: overloadedMs }),
  });
}

function waitedTooLong(syncWaitMs: number): ServiceError {
  return new ServiceError(
    'timeout',
    `The response did not finish within ${Math.ceil(syncWaitMs / 1000)} s and was cancelled. Use 'stream' or 'background' for long ones.`,
    { shouldRetry: false },
  );
}

function stopping(cause: unknown): ServiceError {
  return new ServiceError('server_is_overloaded', 'The server is restarting. Please try again.', {
    retryAfterMs: overloadedMs,
    cause,
  });
}
