import type { OwnTimeouts, Timeouts } from '../upstream/silence-timer.ts';
import { type HttpUpstreamSettings, isOpenAiHost } from '../upstream/http-upstream.ts';
import { wantsLogprobs } from './logprob-fields.ts';
import { ChatReader } from './chat-reader.ts';
import { withCustomInputs } from './custom-tools.ts';
import { type ChatRequestOptions, chatRequestBody } from './chat-request.ts';
import type { Provider } from '../provider.ts';
import { UpstreamProvider } from '../upstream/upstream-provider.ts';

export interface OpenAiChatSettings extends HttpUpstreamSettings, OwnTimeouts {
  type: 'openai-chat';
  /** Whether this upstream may fetch media URLs that clients name. Default: false. See `checkMediaUrl`. */
  fetchesUrls?: boolean | undefined;
  /** The name under which `max_output_tokens` is sent. Default: `max_tokens`, except to OpenAI's own hosts. */
  maxTokensField?: ChatRequestOptions['maxTokensField'] | undefined;
  /** The member under which earlier reasoning is sent back. Default: none is. */
  reasoningField?: ChatRequestOptions['reasoningField'] | undefined;
  /** Whether marks of clients for caches are sent. Default: false. */
  cacheControl?: boolean | undefined;
}

/** Any server with `/chat/completions`: vLLM, llama.cpp, Ollama, LM Studio, Groq, OpenRouter and others. */
export function openAiChat(settings: OpenAiChatSettings, timeouts: Timeouts): Provider {
  const isOpenAi = isOpenAiHost(settings.baseUrl);
  const options: ChatRequestOptions = {
    providerId: settings.id,
    fetchesUrls: settings.fetchesUrls ?? false,
    maxTokensField: settings.maxTokensField ?? (isOpenAi ? 'max_completion_tokens' : 'max_tokens'),
    isOpenAi,
    reasoningField: settings.reasoningField,
    takesCacheMarks: settings.cacheControl ?? false,
  };
  return new UpstreamProvider(settings, timeouts, {
    path: '/chat/completions',
    repeatsAnswer: false,
    requestBody: (generation, model) => chatRequestBody(generation, model, options),
    echoBytes: () => 0,
    reader: (generation) =>
      withCustomInputs(
        new ChatReader(settings.id, wantsLogprobs(generation), generation.stop),
        generation.tools,
      ),
  });
}
