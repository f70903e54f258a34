import type { ServiceError } from '@sluice/contract';
import { errorHeaders } from '../plugins/error-handler.ts';
import type { Lane } from './turn-lanes.ts';

/**
 * The frame that refuses a turn, or a frame that is no turn. `headers` are those of the same answer over HTTP; a turn has the
 * id of a request.
 */
export function errorFrame(error: ServiceError, lane: Lane, requestId?: string): string {
  const headers = {
    ...(requestId !== undefined && { 'x-request-id': requestId }),
    ...errorHeaders(error),
  };
  return JSON.stringify({
    type: 'error',
    status: error.status,
    error: error.toBody(),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(lane !== undefined && { stream_id: lane }),
  });
}

/** The answer to a wish to steer a response. `steer` is what was sent. */
export function steerFailedFrame(steer: Record<string, unknown>, error: ServiceError, lane: Lane): string {
  return JSON.stringify({
    type: 'response.steer.failed',
    sequence_number: 0,
    steer,
    error: error.toBody(),
    ...(lane !== undefined && { stream_id: lane }),
  });
}
