import type { Timeouts } from './event-stream.ts';
import { openAiChat, type OpenAiChatSettings } from './openai-chat.ts';
import { openAiResponses, type OpenAiResponsesSettings } from './openai-responses.ts';
import type { Provider } from './provider.ts';
import { simulator, type SimulatorSettings } from './simulator.ts';

/** What an operator says about an upstream, told apart by `type`. */
export type ProviderSettings = SimulatorSettings | OpenAiChatSettings | OpenAiResponsesSettings;

/** The time-outs of upstreams that have none of their own, in milliseconds. */
export type ProviderTimeouts = Timeouts;

/**
 * Makes the provider of a `type`. Nothing is connected before the first call; whoever makes it closes it.
 *
 * @throws {TypeError} when an upstream's `baseUrl` is no URL.
 */
export function createProvider(settings: ProviderSettings, defaults: ProviderTimeouts): Provider {
  switch (settings.type) {
    case 'simulator':
      return simulator(settings);
    case 'openai-chat':
      return openAiChat(settings, timeoutsOf(settings, defaults));
    case 'openai-responses':
      return openAiResponses(settings, timeoutsOf(settings, defaults));
  }
}

function timeoutsOf(own: OpenAiChatSettings | OpenAiResponsesSettings, defaults: ProviderTimeouts): Timeouts {
  return {
    connectMs: own.connectMs ?? defaults.connectMs,
    firstTokenMs: own.firstTokenMs ?? defaults.firstTokenMs,
    idleMs: own.idleMs ?? defaults.idleMs,
  };
}
