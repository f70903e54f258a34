import {
  type CreateResponse,
  type HostedToolsOfModels,
  parseCompactResponse,
  parseCountInputTokens,
  parseCreateResponse,
  ServiceError,
} from '@sluice/contract';
import {
  type ChatDelivery,
  type EmbeddingDelivery,
  type MessageDelivery,
  parseChatRequest,
  parseCountMessageTokens,
  parseEmbeddingRequest,
  parseMessageRequest,
} from '@sluice/protocols';
import { type PreparationOptions, type PreparedRequest, prepareRequest } from '@sluice/response-store';
import { compactionRequest } from './compaction-request.ts';
import { openSealedItems, type Sealing } from './open-sealed.ts';
import { decodeJson, parseJson } from './parse-json.ts';

/**
 * Most characters of a request without its input, which every reader of the response is shown again: the longest
 * `instructions` and two mebibytes of everything else.
 */
const longestRequest = 12 * 1024 * 1024;

/**
 * The form of a body, by its route: a new response, also as a chat completion, a message or embeddings, a number of tokens, also of a
 * message, or a shorter conversation; or a request that the service has stored itself, which was checked when it came.
 */
export type BodyForm =
  | 'create'
  | 'chat'
  | 'message'
  | 'embedding'
  | 'count_tokens'
  | 'count_message_tokens'
  | 'compact'
  | 'stored';

/** A request as it is accepted, and what its body says besides. */
export interface PreparedBody extends PreparedRequest {
  /** How a chat completion is to be delivered. */
  chat?: ChatDelivery | undefined;
  /** How a message is to be delivered. */
  message?: MessageDelivery | undefined;
  /** How embeddings are to be delivered. */
  embedding?: EmbeddingDelivery | undefined;
}

interface ParsedBody extends Pick<PreparedBody, 'chat' | 'message' | 'embedding'> {
  request: CreateResponse;
  /** An error that is found later, about the member that the caller wrote. */
  named?: (error: ServiceError) => ServiceError;
}

interface ParserOptions {
  /** Whether the caller has a key with which it can come back. */
  withDigest?: boolean;
  /** The tools that the upstreams of each model run; none by default. */
  hostedTools?: HostedToolsOfModels | undefined;
}

const parsers: Record<BodyForm, (value: unknown, options: ParserOptions) => ParsedBody> = {
  create: (value, options) => ({ request: parseCreateResponse(value, options) }),
  chat: (value, { withDigest: canReturn = false, ...options }) => {
    const { delivery: chat, ...parsed } = parseChatRequest(value, { ...options, canReturn });
    return { ...parsed, chat };
  },
  message: (value, { withDigest: canReturn = false, ...options }) => {
    const { delivery: message, ...parsed } = parseMessageRequest(value, { ...options, canReturn });
    return { ...parsed, message };
  },
  embedding: (value, { withDigest: canReturn = false }) => {
    const { delivery: embedding, ...parsed } = parseEmbeddingRequest(value, { canReturn });
    return { ...parsed, embedding };
  },
  count_tokens: (value, options) => ({ request: parseCountInputTokens(value, options) }),
  count_message_tokens: (value, options) => parseCountMessageTokens(value, options),
  compact: (value) => ({ request: compactionRequest(parseCompactResponse(value)) }),
  // A second check would drop what a response adds to the input of the next one.
  stored: (value) => ({ request: value as CreateResponse }),
};

export interface BodyOptions extends PreparationOptions, Pick<ParserOptions, 'hostedTools'> {
  /** `create` by default. */
  form?: BodyForm;
  sealing: Sealing;
  /** Whether it runs in the background, and is stored, whatever it says; see `packages/batches`. */
  inBackground?: boolean | undefined;
  /** Frees the bytes, which must have a buffer of their own, as soon as they are decoded. */
  consume?: boolean;
}

/**
 * Makes of the bytes of a request what its accept needs, or whatever else is done with its context. It depends on nothing but
 * its arguments, so that it can run on the event loop for a small body and in a thread for a large one.
 *
 * Each form of a large body is dropped before the one after the next is made, so that two of them at most are in memory.
 *
 * @throws {ServiceError} that says what is wrong with the body.
 */
export function prepareBody(
  body: Uint8Array<ArrayBuffer> | undefined,
  { consume = false, sealing, form = 'create', hostedTools, inBackground = false, ...options }: BodyOptions,
): PreparedBody {
  const value = body && readJson(body, { consume });
  const { request, named, chat, message, embedding } = parsers[form](value, {
    hostedTools,
    withDigest: options.withDigest,
  });
  if (inBackground) Object.assign(request, { background: true, store: true });
  try {
    const prepared = prepareChecked(request, { ...options, sealing });
    return {
      ...(named ? renamed(prepared, named) : prepared),
      ...(chat && { chat }),
      ...(message && { message }),
      ...(embedding && { embedding }),
    };
  } catch (error) {
    throw named && error instanceof ServiceError ? named(error) : error;
  }
}

/** The same with the names that the caller used, for errors that are found once it is known who answers. */
function renamed(
  { files, mediaUrls, ...prepared }: PreparedRequest,
  named: (error: ServiceError) => ServiceError,
): PreparedRequest {
  const nameOf = (param: string) => named(new ServiceError('invalid_value', { param })).param ?? param;
  return {
    ...prepared,
    ...(files && { files: files.map((file) => ({ ...file, param: nameOf(file.param) })) }),
    ...(mediaUrls && {
      mediaUrls: Object.fromEntries(Object.entries(mediaUrls).map(([kind, at]) => [kind, nameOf(at)])),
    }),
  };
}

/** The value of a body, which is freed as soon as it is decoded if it may be. */
export function readJson(body: Uint8Array<ArrayBuffer>, { consume }: { consume: boolean }): unknown {
  const json = decodeJson(body);
  if (consume) body.buffer.transfer(0);
  return parseJson(json);
}

/** @throws {ServiceError} when what is sealed cannot be opened, or what is not the input of a request is too large. */
export function prepareChecked(
  request: CreateResponse,
  { sealing, ...options }: PreparationOptions & { sealing: Sealing },
): PreparedRequest {
  const sealedTokens = openSealedItems(request.input, sealing);
  const prepared = prepareRequest(request, options);
  prepared.inputTokens += sealedTokens;
  if (prepared.requestJson.length > longestRequest) {
    const message = `The request without its input has more than ${longestRequest} characters.`;
    throw new ServiceError('request_too_large', message);
  }
  return prepared;
}
