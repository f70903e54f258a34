import type { ExpectedTokens } from '@sluice/admission';
import type { KeySettings, ModelPrice, ModelSettings, Settings } from '@sluice/config';
import { requestedTier, ServiceError, type ServiceTier } from '@sluice/contract';
import type { PreparedRequest, StoredRequest } from '@sluice/response-store';

/** Tokens of output that are reserved for a response when nothing says how many there may be. */
const assumedOutputTokens = 1_024;

/** Most tokens of output that a response of a model and a tenant may have; undefined where the upstream decides. */
export function mostOutputOf(
  { maxOutputTokens }: ModelSettings,
  { limits: { maxOutputTokens: ofTenant } }: KeySettings,
): number | undefined {
  if (maxOutputTokens === undefined || ofTenant === undefined) return maxOutputTokens ?? ofTenant;
  return Math.min(maxOutputTokens, ofTenant);
}

/**
 * Whether a model and a tenant take a request of this size.
 *
 * @throws {ServiceError} that names the member which is too large.
 */
export function checkTokens(
  { request, inputTokens }: PreparedRequest,
  model: ModelSettings,
  key: KeySettings,
): void {
  const { max_output_tokens: asked } = request;
  const most = mostOutputOf(model, key);
  if (asked !== undefined && most !== undefined && asked > most) {
    const message = `'max_output_tokens' is ${asked}; at most ${most} are allowed here.`;
    throw new ServiceError('integer_above_max_value', message, { param: 'max_output_tokens' });
  }
  const { contextTokens } = model;
  if (request.truncation === 'auto') return; // The worker leaves out what is too much.
  if (request.embedding) return; // The context holds each text alone.
  if (contextTokens !== undefined && inputTokens > contextTokens) {
    const message = `The input has about ${inputTokens} tokens; the context of this model holds ${contextTokens}.`;
    throw new ServiceError('context_length_exceeded', message, { param: 'input' });
  }
}

/** How many tokens of input are reserved for a response, and how many it may have with all that it continues from. */
export function expectedInputOf(
  { request, inputTokens }: PreparedRequest,
  { contextTokens }: ModelSettings,
): Pick<ExpectedTokens, 'input' | 'mostInput' | 'truncates'> {
  const truncates = request.truncation === 'auto';
  const most = truncates ? (contextTokens ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
  const mostInput = request.embedding ? undefined : contextTokens;
  return { input: Math.min(inputTokens, most), mostInput, truncates };
}

/** How many tokens of output are reserved for a response before anybody knows how many there are. */
export function expectedOutputOf(request: StoredRequest, most: number | undefined): number {
  return request.embedding ? 0 : (request.max_output_tokens ?? most ?? assumedOutputTokens);
}

/** The price of a token of each kind, in billionths of the currency, as budgets.lua reads it. */
export function printPrice({ input, cachedInput = input, cacheWrite = input, output }: ModelPrice): string {
  // A price is of a million tokens.
  return [input, cachedInput, cacheWrite, output].map((price) => Math.round(price * 1e6) / 1e3).join(' ');
}

/** A tier that the key may not have is served as default. */
export function tierFor(request: StoredRequest, key: KeySettings): ServiceTier {
  const tier = requestedTier(request.service_tier);
  return key.tiers.includes(tier) ? tier : 'default';
}

/** The weight of a tier in the queue. */
export function weightOfTier(
  { batchWeight, flexWeight, defaultWeight, priorityWeight }: Settings['fairness'],
  tier: ServiceTier,
): number {
  return { batch: batchWeight, flex: flexWeight, default: defaultWeight, priority: priorityWeight }[tier];
}
