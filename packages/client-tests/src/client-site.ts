import { randomUUID } from 'node:crypto';
import { type Service, startService } from '@sluice/system-tests/service';
import { type ScriptedModel, startScriptedModel } from './scripted-model.ts';

/** The mounts of the service, and what `object` of a response is at each. */
export const mounts = [
  { mount: '/v1', object: 'response' },
  { mount: '/api/v1', object: 'create_response' },
] as const;

export type Mount = (typeof mounts)[number]['mount'];

/** An api and a worker as processes, and the model server that they call. */
export interface ClientSite {
  service: Service;
  model: ScriptedModel;
  /** The `baseURL` of a client. */
  baseUrl: (mount: Mount) => string;
  /** A key that may use every model, as often as it likes. */
  key: string;
  [Symbol.asyncDispose]: () => Promise<void>;
}

const key = 'sk-client-0123456789abcdef';

/** Keys that may create one response a minute, one for each mount. */
export const oneRequestKeys: Record<Mount, string> = {
  '/v1': 'sk-one-0123456789abcdef',
  '/api/v1': 'sk-one-more-0123456789abcdef',
};

/**
 * Starts a site. Its models are `simulator` and `simulator-reasoning`, and `scripted`, which the model server answers
 * over the Responses protocol. `scripted-chat` is the same over chat completions. `limited` is one whose 429s slow down
 * no other model. Pages of `corsOrigins` may call it.
 */
export async function startClientSite({
  corsOrigins = [],
}: {
  corsOrigins?: readonly string[];
} = {}): Promise<ClientSite> {
  const model = await startScriptedModel();
  const { baseUrl } = model;
  const provider = (id: string, type: string) => ({ id, type, baseUrl });
  const simulator = { type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 };
  const oneRequest = Object.entries(oneRequestKeys).map(([mount, slowKey]) => ({
    name: `one${mount.replaceAll('/', '-')}`,
    key: slowKey,
    limits: { requestsPerMinute: 1 },
  }));
  const service = await startService({
    settings: {
      server: { corsOrigins },
      files: { enabled: true },
      keys: [{ name: 'client', key }, ...oneRequest],
      providers: [
        { id: 'simulator', ...simulator },
        { id: 'simulator-reasoning', ...simulator, reasoning: true },
        provider('responses', 'openai-responses'),
        provider('chat', 'openai-chat'),
        provider('limited', 'openai-responses'),
      ],
      models: [
        { id: 'simulator', routes: [{ provider: 'simulator' }] },
        { id: 'simulator-reasoning', routes: [{ provider: 'simulator-reasoning' }] },
        { id: 'scripted', routes: [{ provider: 'responses' }] },
        { id: 'scripted-chat', routes: [{ provider: 'chat' }] },
        { id: 'limited', routes: [{ provider: 'limited' }] },
      ],
    },
  });
  return {
    service,
    model,
    key,
    baseUrl: (mount) => `${service.apiUrls[0]}${mount}`,
    async [Symbol.asyncDispose]() {
      try {
        await service.stop();
      } finally {
        await model.close();
      }
    },
  };
}

/** A prompt that no other test uses, so that its request can be found at the model server. */
export function onlyPrompt(beginning: string): string {
  return `${beginning} (${randomUUID()})`;
}
