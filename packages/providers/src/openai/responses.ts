import type { OwnTimeouts, Timeouts } from '../upstream/silence-timer.ts';
import { type HttpUpstreamSettings, isOpenAiHost } from '../upstream/http-upstream.ts';
import { wantsLogprobs } from './logprob-fields.ts';
import { wantedOrigin } from './opaque-reasoning.ts';
import { ResponsesReader } from './responses-reader.ts';
import { responsesRequestBody } from './responses-request.ts';
import type { Provider } from '../provider.ts';
import { UpstreamProvider } from '../upstream/upstream-provider.ts';

export interface OpenAiResponsesSettings extends HttpUpstreamSettings, OwnTimeouts {
  type: 'openai-responses';
  /** Whether this upstream may fetch media URLs that clients name. Default: false. See `checkMediaUrl`. */
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
    // Life-cycle events repeat these members of the request.
    echoBytes: ({ instructions = '', tools = [], text }) =>
      2 * (instructions.length + JSON.stringify(tools).length + JSON.stringify(text ?? {}).length),
    reader: (generation) =>
      new ResponsesReader(settings.id, {
        wantsLogprobs: wantsLogprobs(generation),
        opaqueOrigin: wantedOrigin(generation, settings.id),
      }),
  });
}
