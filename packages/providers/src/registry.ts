import { aiSdk, type AiSdkSettings, faultOfPackage } from './ai-sdk/ai-sdk.ts';
import type { OwnTimeouts, Timeouts } from './upstream/silence-timer.ts';
import { openAiChat, type OpenAiChatSettings } from './openai/chat.ts';
import { openAiResponses, type OpenAiResponsesSettings } from './openai/responses.ts';
import { llamaCpp } from './llama-cpp/llama-cpp.ts';
import type { LlamaCppSettings } from './llama-cpp/settings.ts';
import type { Provider, ProviderLog } from './provider.ts';
import { simulator, type SimulatorSettings } from './simulator/simulator.ts';

/** The operator's settings of one provider, told apart by `type`. */
export type ProviderSettings = SimulatorSettings | UpstreamSettings | LlamaCppSettings;

type UpstreamSettings = OpenAiChatSettings | OpenAiResponsesSettings | AiSdkSettings;

/** Default time-outs, in milliseconds, for upstreams that set none of their own. */
export type ProviderTimeouts = Timeouts;

/**
 * Makes the provider of a `type`. It connects at its first call. The caller has to close it.
 *
 * @throws {TypeError} when the `baseUrl` of an upstream is not a URL.
 */
export function createProvider(
  settings: ProviderSettings,
  defaults: ProviderTimeouts,
  log?: ProviderLog,
): Provider {
  switch (settings.type) {
    case 'simulator':
      return simulator(settings);
    case 'openai-chat':
      return openAiChat(settings, timeoutsOf(settings, defaults));
    case 'openai-responses':
      return openAiResponses(settings, timeoutsOf(settings, defaults));
    case 'ai-sdk':
      return aiSdk(settings, timeoutsOf(settings, defaults));
    case 'llama-cpp':
      return llamaCpp(settings, log);
  }
}

/**
 * Why no request could use a provider on this machine, in a sentence for the operator; undefined when one could. Connects
 * to nothing.
 */
export async function faultOfProvider(settings: ProviderSettings): Promise<string | undefined> {
  return settings.type === 'ai-sdk' ? faultOfPackage(settings) : undefined;
}

/**
 * Settings whose provider connects to this IP address, whatever the host of its `baseUrl` resolves to; the settings as they are
 * without an address, and for a provider that has no `baseUrl`.
 */
export function atAddress(settings: ProviderSettings, address: string | undefined): ProviderSettings {
  return address === undefined || !('baseUrl' in settings) ? settings : { ...settings, address };
}

function timeoutsOf(own: OwnTimeouts, defaults: ProviderTimeouts): Timeouts {
  return {
    connectMs: own.connectMs ?? defaults.connectMs,
    firstTokenMs: own.firstTokenMs ?? defaults.firstTokenMs,
    idleMs: own.idleMs ?? defaults.idleMs,
  };
}
