import type { TestRedis } from '@sluice/testing';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';
import { type Service, type SettingsFile, startService } from './service.ts';
import { open, type OpenAnswer, send, type WireAnswer } from './wire.ts';

/** What a response says, as far as measurements look into it. */
export interface SentResponse {
  id: string;
  status: string;
  output: unknown[];
}

/** Two apis and two workers before a model server that does as it is told: where delivery is measured. */
export interface DeliverySite {
  service: Service;
  upstream: ScriptedUpstream;
  /** The address of an api; any number goes. */
  api: (at: number) => string;
  create: (at: number, body: object, headers?: Record<string, string>) => Promise<WireAnswer>;
  /** The same for a stream, whose events are still to be read. */
  stream: (at: number, body: object) => Promise<OpenAnswer>;
  get: (at: number, id: string) => Promise<WireAnswer>;
  /** The stream of a stored response, after a cursor or, with -1, all of it. */
  replay: (at: number, id: string, cursor?: number) => Promise<OpenAnswer>;
  cancel: (at: number, id: string) => Promise<WireAnswer>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

export interface DeliverySiteOptions {
  redisUrl?: string;
  apis?: number;
  workers?: number;
  /** Lies over the settings of the site. */
  settings?: SettingsFile;
}

/** The keys of the site: two of one tenant would be no strangers. */
export const siteKeys = { tester: 'sk-test-0123456789abcdef', stranger: 'sk-stranger-0123456789abcdef' };

/** Prompts that need time say so themselves. */
const atFullSpeed = { firstTokenMs: 0, tokensPerSecond: 0 };

/**
 * The models of the site: `simulator` and `simulator-reasoning`; `scripted`, answered by the upstream; and `narrow`,
 * the same with one place, which a test can hold so that everything else is queued.
 */
export async function startDeliverySite(options: DeliverySiteOptions = {}): Promise<DeliverySite> {
  const upstream = await startScriptedUpstream();
  const scripted = [{ provider: 'upstream' }];
  const service = await startService({
    apis: options.apis ?? 2,
    workers: options.workers ?? 2,
    ...(options.redisUrl !== undefined && { redisUrl: options.redisUrl }),
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
        { id: 'scripted', routes: scripted },
        { id: 'narrow', routes: scripted, concurrency: 1 },
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
    create: (at, body, headers = {}) =>
      send(api(at), { method: 'POST', path: '/v1/responses', key, body, headers }),
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

/** A body that is known to be a response. */
export function responseIn({ status, text }: WireAnswer): SentResponse {
  if (status !== 200) throw new Error(`status ${status}: ${text}`);
  return JSON.parse(text) as SentResponse; // a 200 of these routes is a response object
}

/** The events of a streamed response as they stand in the log, by number; life-cycle events only by their type. */
export async function loggedEvents(redis: TestRedis, id: string): Promise<string[]> {
  const entries = await redis.client.xrange(`${redis.prefix}:log:${id}`, '-', '+');
  return entries.map(([, fields]) => fields[1] ?? '');
}
