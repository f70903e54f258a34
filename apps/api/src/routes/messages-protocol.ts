import { messageErrorOf, messageErrorSchema } from '@sluice/protocols';
import type { Protocol } from '../protocol.ts';
import { anthropicRateLimitHeaders } from '../rate-limit-headers.ts';

/** Errors and headers as Anthropic's clients read them. They try again after a 503, as after a 529. */
export const messagesProtocol: Required<Protocol> = {
  errorBody: (error, requestId) => JSON.stringify(messageErrorOf(error, requestId)),
  errorSchema: messageErrorSchema,
  requestIdHeader: 'request-id',
  limitHeaders: (use) => anthropicRateLimitHeaders(use, Date.now()),
};
