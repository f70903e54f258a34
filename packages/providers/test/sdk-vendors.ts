import { readFileSync } from 'node:fs';
import type { FakeUpstream, UpstreamHandler } from '@sluice/testing';
import type { ProviderSettings } from '../src/index.ts';

/** A vendor whose API is replayed through its package of the AI SDK. */
export interface SdkVendor {
  name: 'anthropic' | 'google' | 'mistral';
  /** Where its package sends a call of the model `m`, below the base URL. */
  path: string;
  /** The body of an answer with a status of 400 and more. */
  errorBody: (message: string, type: string) => object;
}

export const sdkVendors: readonly SdkVendor[] = [
  {
    name: 'anthropic',
    path: '/messages',
    errorBody: (message, type) => ({ type: 'error', error: { type, message }, request_id: 'req_1' }),
  },
  {
    name: 'google',
    path: '/models/m:streamGenerateContent',
    errorBody: (message, status) => ({ error: { code: 400, message, status } }),
  },
  {
    name: 'mistral',
    path: '/chat/completions',
    errorBody: (message, type) => ({ object: 'error', message, type, param: null, code: '3051' }),
  },
];

/** The settings of a vendor whose API is at a fake upstream. */
export function vendorSettings(vendor: SdkVendor, upstream: FakeUpstream): ProviderSettings {
  return {
    type: 'ai-sdk',
    id: 'up',
    package: `@ai-sdk/${vendor.name}`,
    options: { baseURL: upstream.baseUrl, apiKey: 'k1' },
  };
}

/** Answers the vendor's route, and refuses every other. */
export function answerVendor(vendor: SdkVendor, upstream: FakeUpstream, handler: UpstreamHandler): void {
  upstream.onOther((exchange) => {
    const [path] = exchange.request.path.split('?', 1);
    if (exchange.request.method === 'POST' && path === `/v1${vendor.path}`) return handler(exchange);
    exchange.json(404, { error: { message: 'no such route' } });
  });
}

/** The bytes of a recorded stream. */
export function recordedStream(name: string): string {
  return readFileSync(new URL(`../src/ai-sdk/__fixtures__/${name}.sse`, import.meta.url), 'utf8');
}

/** Its events, each with what separates it from the next. */
export function recordedEvents(name: string): string[] {
  return recordedStream(name).split(/(?<=\r?\n\r?\n)/);
}
