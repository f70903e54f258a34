import { type CreateResponse, parseCreateResponse, ServiceError } from '@sluice/contract';
import { type PreparationOptions, type PreparedRequest, prepareRequest } from '@sluice/response-store';
import { decodeJson, parseJson } from './parse-json.ts';

/**
 * Most characters of a request without its input, which every reader of the response is shown again: the longest
 * `instructions` and two mebibytes of everything else.
 */
const longestRequest = 12 * 1024 * 1024;

export interface BodyOptions extends PreparationOptions {
  /** Frees the bytes, which must have a buffer of their own, as soon as they are decoded. */
  consume?: boolean;
}

/**
 * Makes of the bytes of a create request what its accept needs. It depends on nothing but its arguments, so that it can
 * run on the event loop for a small body and in a thread for a large one.
 *
 * Each form of a large body is let go before the one after the next is made: it is in memory twice at a time.
 *
 * @throws {ServiceError} that says what is wrong with the body.
 */
export function prepareBody(
  body: Uint8Array<ArrayBuffer> | undefined,
  { consume = false, ...options }: BodyOptions,
): PreparedRequest {
  const value = body && readJson(body, { consume });
  return prepareChecked(parseCreateResponse(value), options);
}

/** The value of a body, which is freed as soon as it is decoded if it may be. */
export function readJson(body: Uint8Array<ArrayBuffer>, { consume }: { consume: boolean }): unknown {
  const json = decodeJson(body);
  if (consume) body.buffer.transfer(0);
  return parseJson(json);
}

/** @throws {ServiceError} when what is not the input of a request is too large. */
export function prepareChecked(request: CreateResponse, options: PreparationOptions): PreparedRequest {
  const prepared = prepareRequest(request, options);
  if (prepared.requestJson.length > longestRequest) {
    const message = `The request without its input has more than ${longestRequest} characters.`;
    throw new ServiceError('request_too_large', message);
  }
  return prepared;
}
