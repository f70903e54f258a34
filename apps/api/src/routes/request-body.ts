import type { ErrorCode } from '@sluice/contract';
import type { Telemetry } from '@sluice/runtime';
import type { FastifyRequest } from 'fastify';
import type { JsonReader } from '../bodies/json-reader.ts';
import type { BodyForm, PreparedBody } from '../bodies/prepare-body.ts';
import { cutOff } from '../plugins/error-handler.ts';
import { tellingRefusal } from '../refused-creates.ts';
import { PendingRequest } from '../responses/pending-request.ts';
import { anyErrors, bodyErrors, schemaErrors } from '../route.ts';

/** Errors of any request that says what a model is given. */
export const contextErrors = [
  ...schemaErrors,
  'empty_array',
  'unsupported_value',
  'unsupported_tool',
  'mutually_exclusive_parameters',
  'invalid_encrypted_content',
  'invalid_base64_image',
  'invalid_image_format',
  'invalid_image_url',
  'model_not_found',
  'model_not_allowed',
  'previous_response_not_found',
  'item_not_found',
  'context_length_exceeded',
] as const satisfies ErrorCode[];

/** The errors with which a response can fail, as the caller is told who waits for the whole of it. */
export const failureErrors = [
  'invalid_prompt',
  'model_error',
  'invalid_model_output',
  'upstream_error',
  'timeout',
] as const satisfies ErrorCode[];

/** The errors of a request that creates a response, whatever its protocol. */
export const creationErrors = [
  ...anyErrors,
  ...bodyErrors,
  ...contextErrors,
  'tool_call_not_found',
  'idempotency_mismatch',
  'idempotency_result_gone',
  'insufficient_quota',
  'files_unavailable',
  ...failureErrors,
] as const satisfies ErrorCode[];

/** The body of a request that creates a response. Telemetry is told when it is refused for want of room. */
export function preparedCreation(
  request: FastifyRequest,
  { json, telemetry }: { json: JsonReader; telemetry: Telemetry },
  form: BodyForm,
): Promise<PreparedBody> {
  const withDigest = request.headers['idempotency-key'] !== undefined;
  return tellingRefusal(telemetry, { tenant: request.key.name, model: '' }, () =>
    preparedBody(request, json, { withDigest, form }),
  );
}

export async function pendingBody(
  request: FastifyRequest,
  reader: JsonReader,
  options: BodyOptions,
): Promise<PendingRequest> {
  return new PendingRequest(await preparedBody(request, reader, options));
}

interface BodyOptions {
  withDigest?: boolean;
  form?: BodyForm;
}

/** The bytes go to the reader that prepares them, so that nothing holds them for longer than that. */
export async function preparedBody(
  request: FastifyRequest,
  reader: JsonReader,
  options: BodyOptions,
): Promise<PreparedBody> {
  return withBody(request, (body) => reader.prepare(body, { tenant: request.key.name, ...options }));
}

/** Reads the bytes of a body, which are counted for as long as that takes. */
export async function withBody<Read>(
  request: FastifyRequest,
  read: (body: Buffer<ArrayBuffer> | undefined) => Read | Promise<Read>,
): Promise<Read> {
  const body = request.body as Buffer<ArrayBuffer> | undefined; // as the parser of bodies leaves it
  request.body = undefined;
  const unpin = request.bodyReservation?.pin();
  try {
    const value = await read(body);
    if (request.bodyReservation?.isReleased === true) throw cutOff();
    return value;
  } finally {
    unpin?.();
  }
}
