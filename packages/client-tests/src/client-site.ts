import { randomUUID } from 'node:crypto';
import { type Service, startService } from '@sluice/system-tests/service';
import { forAllTests, eventually } from '@sluice/testing';
import { type BreakablePath, startBreakablePath } from './breakable-path.ts';
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
  /** Another way to the api, for clients whose connections are to break. */
  path: BreakablePath;
  /** The `baseURL` of a client. */
  baseUrl: (mount: Mount) => string;
  /** A key that may use every model, as often as it likes. */
  key: string;
  /**
   * Takes all that the narrow key may have: a response that runs, and one that waits. Its next request is refused with 429,
   * until the function that this resolves with was called and both have ended.
   */
  fillNarrowKey: () => Promise<() => void>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

const key = 'sk-client-0123456789abcdef';

/** Keys that may create one response a minute, one for each mount. */
export const oneRequestKeys: Record<Mount, string> = {
  '/v1': 'sk-one-0123456789abcdef',
  '/api/v1': 'sk-one-more-0123456789abcdef',
};

/** A key of which one response may run at a time, and one more may wait. */
export const narrowKey = 'sk-narrow-0123456789abcdef';

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
  const narrow = { name: 'narrow', key: narrowKey, limits: { concurrent: 1, queued: 1 } };
  const service = await startService({
    settings: {
      server: { corsOrigins },
      files: { enabled: true },
      usage: { enabled: true },
      webhooks: { allowPrivateNetworks: true },
      keys: [{ name: 'client', key }, narrow, ...oneRequest],
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
  const origin = String(service.apiUrls[0]);
  const path = await startBreakablePath(origin);
  return {
    service,
    model,
    path,
    key,
    baseUrl: (mount) => `${origin}${mount}`,
    async fillNarrowKey() {
      const running = onlyPrompt('Hold on');
      await createInBackground(origin, running);
      // The second one comes once the first one runs: until then the first one is what waits.
      await eventually(() => model.requestsFor(running).length === 1);
      await createInBackground(origin, 'Tell me of Bergen.');
      return () => model.goOn(running);
    },
    async [Symbol.asyncDispose]() {
      try {
        await path.close();
        await service.stop();
      } finally {
        await model.close();
      }
    },
  };
}

/** The site of the suites of a file, which runs for as long as they do: see `forAllTests`. */
export function clientSite(): ClientSite {
  return forAllTests(startClientSite);
}

/** Creates a response of the narrow key, which needs no caller. */
async function createInBackground(origin: string, input: string): Promise<void> {
  const answer = await fetch(`${origin}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${narrowKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'scripted', input, background: true }),
  });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
}

/** A prompt that no other test uses, so that its request can be found at the model server. */
export function onlyPrompt(beginning: string): string {
  return `${beginning} (${randomUUID()})`;
}
