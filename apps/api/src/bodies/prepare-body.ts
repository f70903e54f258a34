import { parseCreateResponse, ServiceError } from '@sluice/contract';
import { type PreparationOptions, type PreparedRequest, prepareRequest } from '@sluice/response-store';
import { openSealedItems, type Sealing } from './open-sealed.ts';
import { decodeJson, parseJson } from './parse-json.ts';

/**
 * Most characters of a request without its input, which every reader of the response is shown again: the longest
 * `instructions` and two mebibytes of everything else.
 */
const longestRequest = 12 * 1024 * 1024;

export interface BodyOptions extends PreparationOptions {
  sealing: Sealing;
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
  { consume = false, sealing, ...options }: BodyOptions,
): PreparedRequest {
  let json = body && decodeJson(body);
  if (consume) body?.buffer.transfer(0);
  const value = json && parseJson(json);
  json = undefined;
  const request = parseCreateResponse(value);
  const sealedTokens = openSealedItems(request.input, sealing);
  const prepared = prepareRequest(request, options);
  prepared.inputTokens += sealedTokens;
  if (prepared.requestJson.length > longestRequest) {
    const message = `The request without its input has more than ${longestRequest} characters.`;
    throw new ServiceError('request_too_large', message);
  }
  return prepared;
}
