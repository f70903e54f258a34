import type { LifecycleType, Response, ResponseBody } from '@sluice/contract';

/**
 * The difference between the two mounts: the word in `object`. It belongs to the path by which a client came in, and is added
 * where a body is written, never stored.
 */
export interface Dialect {
  readonly mount: '/api/v1' | '/v1';
  readonly object: 'create_response' | 'response';
}

export const dialects: readonly Dialect[] = [
  { mount: '/api/v1', object: 'create_response' },
  { mount: '/v1', object: 'response' },
];

/** A response as a body of its mount. */
export function responseBody(dialect: Dialect, response: Response): string {
  return JSON.stringify(presentResponse(dialect, response));
}

/**
 * A life-cycle event, which carries the whole response, in the words of the mount. `isForDoor` says that a door of another protocol reads it,
 * which is told what bodies do not show.
 */
export function lifecycleJson(
  dialect: Dialect,
  { type, sequenceNumber }: { type: LifecycleType; sequenceNumber: number },
  response: Response,
  isForDoor = false,
): string {
  const { stop_sequence } = response;
  const hidden = isForDoor && stop_sequence !== undefined ? { stop_sequence } : {};
  return JSON.stringify({
    type,
    sequence_number: sequenceNumber,
    response: { ...presentResponse(dialect, response), ...hidden },
  });
}

/** A response with the mount's word in `object`, which stands right behind the id, and without what bodies do not show. */
export function presentResponse(
  { object }: Dialect,
  { id, stop_sequence: _, ...rest }: Response,
): ResponseBody {
  return { id, object, ...rest };
}
