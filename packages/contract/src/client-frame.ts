import { z } from 'zod';
import { parseCreateResponse, type CreateResponse, type ParseOptions } from './parse-create-response.ts';
import { ServiceError } from './service-error.ts';

/** Most characters of a `stream_id`. */
const longestStreamId = 256;

const streamIdSchema = z.string().min(1).max(longestStreamId).nullish();

/** A message of a client over a WebSocket. `streamId` is the lane of the frame; frames without one are a lane of their own. */
export type ClientFrame = { streamId: string | undefined } & (
  | {
      kind: 'create';
      request: CreateResponse;
      /** Whether the model is to be called. Otherwise what was sent is kept for the turns that continue from it. */
      generates: boolean;
    }
  /** A wish to change a running response; `steer` is what was sent. */
  | { kind: 'steer'; steer: Record<string, unknown> }
  /** `previousId` is what it was to continue from. */
  | { kind: 'refused'; error: ServiceError; previousId: string | undefined }
);

/**
 * Parses a frame of a client: the members of a create request beside `type: "response.create"`.
 *
 * How the answer is delivered is not up to the frame: `stream` and `stream_options` have no effect, because clients send them
 * although the protocol has no use for them. A background response has nothing to do with a connection and is refused.
 *
 * @param value any JSON value. What is wrong with it becomes part of the result, because the refusal belongs to a lane.
 */
export function parseClientFrame(
  value: unknown,
  options: Pick<ParseOptions, 'hostedTools'> = {},
): ClientFrame {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refused(new ServiceError('invalid_type', 'A frame must be a JSON object.'));
  }
  const { type, stream_id: givenId, ...members } = value as Record<string, unknown>; // an object, as checked above
  const parsedId = streamIdSchema.safeParse(givenId);
  if (!parsedId.success) {
    const message = `'stream_id' must be a text of 1 to ${longestStreamId} characters.`;
    return refused(new ServiceError('invalid_value', message, { param: 'stream_id' }));
  }
  const streamId = parsedId.data ?? undefined;
  if (type === 'response.steer') return { kind: 'steer', streamId, steer: members };
  if (type !== 'response.create') {
    const message = "The 'type' of a frame must be 'response.create'.";
    return refused(new ServiceError('invalid_value', message, { param: 'type' }), streamId);
  }
  try {
    return { kind: 'create', streamId, ...parseTurn(members, options) };
  } catch (error) {
    if (error instanceof ServiceError) return refused(error, streamId, members['previous_response_id']);
    throw error;
  }
}

function parseTurn(
  members: Record<string, unknown>,
  options: Pick<ParseOptions, 'hostedTools'>,
): { request: CreateResponse; generates: boolean } {
  const { generate, background, stream: _, stream_options: __, ...fields } = members;
  if (generate != null && typeof generate !== 'boolean') {
    throw new ServiceError('invalid_type', { param: 'generate' });
  }
  if (background != null && background !== false) {
    const message = 'A response over a WebSocket cannot run in the background; create it over HTTP.';
    throw new ServiceError('unsupported_parameter', message, { param: 'background' });
  }
  const generates = generate !== false;
  return {
    request: parseCreateResponse({ ...fields, stream: true }, { ...options, mayBeEmpty: !generates }),
    generates,
  };
}

function refused(error: ServiceError, streamId?: string, previousId?: unknown): ClientFrame {
  return {
    kind: 'refused',
    streamId,
    error,
    previousId: typeof previousId === 'string' ? previousId : undefined,
  };
}
