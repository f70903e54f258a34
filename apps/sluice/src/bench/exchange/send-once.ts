import { pause } from '@sluice/runtime';
import type { Endpoint } from './endpoint.ts';
import { type Answer, TransportError } from './exchange.ts';
import { badAnswer, brokenStream, failedStatus, lostConnection } from './failure.ts';
import type { Outcome, Witness } from './outcome.ts';
import type { Mode } from '../load/request-bodies.ts';
import { readEnd } from './response-end.ts';
import { StreamReader } from './stream-reader.ts';
import type { Tenant } from '../flags/tenants.ts';

/** One request, ready to be sent. */
export interface Order {
  mode: Mode;
  tenant: Tenant;
  body: string;
}

export interface SendOptions {
  endpoint: Endpoint;
  /** The most time between two looks at a response in the background. */
  pollIntervalMs: number;
  witness: Witness;
  signal: AbortSignal;
}

/** Sends a request once and follows it to its end. Rejects with the reason of the signal alone. */
export async function sendOnce(order: Order, options: SendOptions): Promise<Outcome> {
  try {
    switch (order.mode) {
      case 'whole':
        return await sendWhole(order, options);
      case 'stream':
        return await sendStream(order, options);
      case 'background':
        return await sendBackground(order, options);
    }
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    const isStream = error.wasAnswering && order.mode === 'stream';
    return { kind: 'failed', failure: isStream ? brokenStream(error.cause) : lostConnection(error.cause) };
  }
}

const post = ({ tenant, body }: Order, { signal }: SendOptions) =>
  ({ path: '/responses', method: 'POST', tenant, body, signal }) as const;

async function sendWhole(order: Order, options: SendOptions): Promise<Outcome> {
  const answer = await options.endpoint.send(post(order, options));
  const endedAt = performance.now();
  if (!isGood(answer)) return refused(answer, options);
  const end = readEnd(answer.text);
  switch (end.kind) {
    case 'pending':
      return { kind: 'failed', failure: badAnswer('the response has not ended') };
    case 'failed':
      return end;
    case 'answered':
      return { kind: 'answered', endedAt, tokens: end.tokens, deltas: 0 };
  }
}

async function sendStream(order: Order, options: SendOptions): Promise<Outcome> {
  const reader = new StreamReader((gapMs) => options.witness.gap(gapMs));
  const answer = await options.endpoint.send({
    ...post(order, options),
    onEvent: (event) => reader.take(event),
  });
  if (!isGood(answer)) return refused(answer, options);
  if (!answer.isEventStream)
    return { kind: 'failed', failure: badAnswer('the answer is not an event stream') };
  const { end, error, deltas, firstDeltaAt } = reader.facts;
  const what = end?.what ?? error;
  if (what === undefined) return { kind: 'failed', failure: brokenStream() };
  if (what.kind === 'failed') return what;
  if (what.kind === 'pending' || end === undefined)
    return { kind: 'failed', failure: badAnswer('the terminal event has a response that has not ended') };
  return { kind: 'answered', endedAt: end.at, firstDeltaAt, tokens: what.tokens, deltas };
}

/** The least time between two looks at a response, in milliseconds. */
const leastPollMs = 20;
/** Share of the time that a response has taken, after which it is looked at again: its latency is at most so much off. */
const pollShare = 0.1;

/** Longer than any request may take. A timer of more than 24 days would fire at once. */
const longestWaitMs = 3_600_000;

async function sendBackground(order: Order, options: SendOptions): Promise<Outcome> {
  const { endpoint, signal, pollIntervalMs } = options;
  const sentAt = performance.now();
  const acceptance = await endpoint.send(post(order, options));
  const acceptedAt = performance.now();
  if (!isGood(acceptance)) return refused(acceptance, options);
  let endedAt = acceptedAt;
  let end = readEnd(acceptance.text);
  while (end.kind === 'pending') {
    const soonMs = (performance.now() - sentAt) * pollShare;
    let waitMs = Math.min(pollIntervalMs, Math.max(leastPollMs, soonMs));
    for (;;) {
      await pause(waitMs, signal);
      signal.throwIfAborted();
      const poll = await look(end.id, order, options);
      endedAt = performance.now();
      if (poll.kind === 'read') {
        end = readEnd(poll.text);
        break;
      }
      const { failure } = poll;
      if (!failure.isRetryable) return poll;
      waitMs = Math.min(longestWaitMs, Math.max(pollIntervalMs, failure.retryAfterMs ?? 0));
    }
  }
  if (end.kind === 'failed') return end;
  return { kind: 'answered', endedAt, acceptedAt, tokens: end.tokens, deltas: 0 };
}

/**
 * Polls a response once. A poll that failed and may be repeated is repeated whatever `--retry` says, because it asks for
 * no work. The request is not: the endpoint has accepted it, and would do its work twice.
 */
async function look(
  id: string,
  order: Order,
  options: SendOptions,
): Promise<Failed | { kind: 'read'; text: string }> {
  const { endpoint, witness, signal } = options;
  witness.polled();
  const path = `/responses/${encodeURIComponent(id)}`;
  try {
    const answer = await endpoint.send({ path, method: 'GET', tenant: order.tenant, signal });
    return isGood(answer) ? { kind: 'read', text: answer.text } : refused(answer, options);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    return { kind: 'failed', failure: lostConnection(error.cause) };
  }
}

type Failed = Extract<Outcome, { kind: 'failed' }>;

function isGood({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

function refused(answer: Answer, { witness }: SendOptions): Failed {
  const failure = failedStatus(answer);
  if (answer.status === 429) witness.limited(failure.retryAfterMs);
  return { kind: 'failed', failure };
}
