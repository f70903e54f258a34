import { forAllTests, type TestRedis } from '@sluice/testing';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';
import { prefixOf, type Service, type SettingsFile, startService } from './service.ts';
import { open, type OpenAnswer, send, type WireAnswer } from './wire.ts';

/** The members of a response that tests read. */
export interface SentResponse {
  id: string;
  status: string;
  output: unknown[];
}

/** Two apis and two workers with a scripted model server. */
export interface DeliverySite {
  service: Service;
  upstream: ScriptedUpstream;
  /** The address of an api. Numbers beyond the last api start over. */
  api: (at: number) => string;
  create: (at: number, body: object) => Promise<WireAnswer>;
  /** The same for a stream. Its events are still to be read. */
  stream: (at: number, body: object) => Promise<OpenAnswer>;
  get: (at: number, id: string) => Promise<WireAnswer>;
  /** The stream of a stored response, after a cursor. -1 reads all of it. */
  replay: (at: number, id: string, cursor?: number) => Promise<OpenAnswer>;
  cancel: (at: number, id: string) => Promise<WireAnswer>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

export interface DeliverySiteOptions {
  /** Variables of its processes. */
  env?: Record<string, string>;
  apis?: number;
  workers?: number;
  /** Overrides settings of the site. */
  settings?: SettingsFile;
}

/** The keys of the site, of two tenants. */
export const siteKeys = { tester: 'sk-test-0123456789abcdef', stranger: 'sk-stranger-0123456789abcdef' };

/** The simulator is fast unless a prompt asks it to be slow. */
const atFullSpeed = { firstTokenMs: 0, tokensPerSecond: 0 };

/** Starts a site. Its models are `simulator` and `simulator-reasoning`, and `scripted`, which the upstream answers. */
export async function startDeliverySite(options: DeliverySiteOptions = {}): Promise<DeliverySite> {
  const upstream = await startScriptedUpstream();
  const service = await startService({
    apis: options.apis ?? 2,
    workers: options.workers ?? 2,
    ...(options.env && { env: options.env }),
    settings: {
      keys: [
        { name: 'tester', key: siteKeys.tester, limits: { readsPerMinute: 1_000_000 } },
        { name: 'stranger', key: siteKeys.stranger },
      ],
      providers: [
        { id: 'simulator', type: 'simulator', ...atFullSpeed },
        { id: 'simulator-reasoning', type: 'simulator', reasoning: true, ...atFullSpeed },
        { id: 'upstream', type: 'openai-chat', baseUrl: upstream.fake.baseUrl },
      ],
      models: [
        { id: 'simulator', routes: [{ provider: 'simulator' }] },
        { id: 'simulator-reasoning', routes: [{ provider: 'simulator-reasoning' }] },
        { id: 'scripted', routes: [{ provider: 'upstream' }] },
      ],
      ...options.settings,
    },
  });
  const key = siteKeys.tester;
  const api = (at: number) => service.apiUrls[at % service.apiUrls.length] ?? '';
  return {
    service,
    upstream,
    api,
    create: (at, body) => send(api(at), { method: 'POST', path: '/v1/responses', key, body }),
    stream: (at, body) =>
      open(api(at), { method: 'POST', path: '/v1/responses', key, body: { ...body, stream: true } }),
    get: (at, id) => send(api(at), { path: `/v1/responses/${id}`, key }),
    replay: (at, id, cursor = -1) =>
      open(api(at), {
        path: `/v1/responses/${id}?stream=true${cursor < 0 ? '' : `&starting_after=${cursor}`}`,
        key,
      }),
    cancel: (at, id) => send(api(at), { method: 'POST', path: `/v1/responses/${id}/cancel`, key }),
    async [Symbol.asyncDispose]() {
      try {
        await service.stop();
      } finally {
        await upstream.close();
      }
    },
  };
}

/** Has a site start before the tests of a file, and stop after them: see `forAllTests`. */
export function deliverySite(options: DeliverySiteOptions = {}): DeliverySite {
  return forAllTests(() => startDeliverySite(options));
}

/** Parses a body that is known to be a response. */
export function responseIn({ status, text }: WireAnswer): SentResponse {
  if (status !== 200) throw new Error(`status ${status}: ${text}`);
  return JSON.parse(text) as SentResponse; // a 200 from these routes is a response object
}

/** The logged events of a streamed response by number. Life-cycle events are logged as their type only. */
export async function loggedEvents(redis: TestRedis, id: string): Promise<string[]> {
  const entries = await redis.client.xrange(`${prefixOf(redis, id)}log:${id}`, '-', '+');
  return entries.map(([, fields]) => fields[1] ?? '');
}
