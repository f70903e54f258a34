import type { Timeouts } from './event-stream.ts';
import { type HttpUpstreamSettings, isOpenAiHost } from './http-upstream.ts';
import { wantsLogprobs } from './logprob-fields.ts';
import { ResponsesReader } from './openai-responses-reader.ts';
import { responsesRequestBody } from './openai-responses-request.ts';
import type { Provider } from './provider.ts';
import { UpstreamProvider } from './upstream-provider.ts';

export interface OpenAiResponsesSettings extends HttpUpstreamSettings {
  type: 'openai-responses';
  /** Overrides of the defaults for all upstreams, in milliseconds. */
  connectMs?: number | undefined;
  firstTokenMs?: number | undefined;
  idleMs?: number | undefined;
  /** Whether this upstream may be handed media URLs of clients to fetch. Off unless set: see `checkMediaUrl`. */
  fetchesUrls?: boolean | undefined;
}

/** Any server with `/responses`: OpenAI's, an Open Responses server, or another Sluice. */
export function openAiResponses(settings: OpenAiResponsesSettings, timeouts: Timeouts): Provider {
  const options = {
    providerId: settings.id,
    fetchesUrls: settings.fetchesUrls ?? false,
    isOpenAi: isOpenAiHost(settings.baseUrl),
  };
  return new UpstreamProvider(settings, timeouts, {
    path: '/responses',
    repeatsAnswer: true,
    requestBody: (generation, model) => responsesRequestBody(generation, model, options),
    // Life-cycle events carry these members of the request back.
    echoBytes: ({ instructions = '', tools = [], text }) =>
      2 * (instructions.length + JSON.stringify(tools).length + JSON.stringify(text ?? {}).length),
    reader: (generation) => new ResponsesReader(settings.id, wantsLogprobs(generation)),
  });
}
