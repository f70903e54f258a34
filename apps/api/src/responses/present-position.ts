import type { Response } from '@sluice/contract';
import type { QueuePosition } from './queue-positions.ts';

/** A waiting response with its position. `now` is the store's clock in milliseconds. */
export function withPosition(response: Response, position: QueuePosition | undefined, now: number): Response {
  if (!position) return response;
  const { startsInMs } = position;
  return {
    ...response,
    queue_position: position.position,
    estimated_start_at: startsInMs === undefined ? null : Math.round((now + startsInMs) / 1000),
  };
}

/** The headers of an answer that carries a waiting response; none for any other. */
export function positionHeaders(
  { queue_position: position, estimated_start_at: startAt }: Response,
  now: number,
): Record<string, string> {
  if (position === undefined) return {};
  return {
    'x-sluice-queue-position': String(position),
    ...(startAt != null && {
      'x-sluice-starts-in-seconds': String(Math.max(0, startAt - Math.floor(now / 1000))),
    }),
  };
}

/** The comment about the wait in a silent stream. */
export function positionRemark({ position, startsInMs }: QueuePosition): string {
  const about = startsInMs === undefined ? '' : `, starts in about ${Math.ceil(startsInMs / 1000)}s`;
  return `queued, position ${position}${about}`;
}
