import { DeliveryConsumer, DeliveryQueue, type DeliveryQueueOptions, type Verdict } from '@sluice/queue';
import { type Logger, throttledWarning } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { type Delivery, deliveryId, eventOf, type Happening, webhookQueueName } from './delivery.ts';
import { EndpointGates } from './endpoint-gates.ts';
import { EndpointStore } from './endpoint-store.ts';
import { checkEndpointUrl } from './endpoint-url.ts';
import type { GuardedLookup } from './guarded-lookup.ts';
import { OpenDeliveries } from './open-deliveries.ts';
import { type Answer, type SendEvent, sendEvent } from './send-event.ts';
import {
  endpointAt,
  hasOrigin,
  type KnownEndpoint,
  secretsAt,
  type StoredEndpoint,
  wants,
} from './stored-endpoint.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * The pauses between the tries of a delivery, in milliseconds: ten tries in just under three days, in the steps that Standard Webhooks recommends
 * ("deliverability and reliability").
 */
export const defaultPausesMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  20 * hour,
];

/** A delivery that is older is given up, however often it was tried. The pauses above are over before that. */
const deliverForMs = 72 * hour;

/** Deliveries that have ended can be looked at, and sent again, for a week. */
const keep = { forMs: 168 * hour, count: 10_000 };

/** Most deliveries of an endpoint that have not ended. Further events are not sent to it. Rare ones have room behind the ends of responses. */
const mostOpen = { ofResponses: 10_000, withRare: 11_000 };

const concurrency = 32;
/** How long a call may go on when the process stops, in milliseconds. */
const stopWithinMs = 2_000;

export interface WebhookSenderOptions {
  /** For commands. */
  connection: Redis;
  /** For taking jobs; BullMQ makes another one of it that waits. */
  jobs: Redis;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** Whether endpoints may be of private networks. */
  allowPrivate: boolean;
  /** How long an endpoint has for its answer, in milliseconds. */
  timeoutMs: number;
  /** Resolves the hosts of endpoints. */
  lookup: GuardedLookup;
  userAgent: string;
  /** Sends an event once; over HTTP by default. */
  sendEvent?: SendEvent | undefined;
  logger: Logger;
  /** How long nobody else takes a delivery whose process is silent, and how often such are looked for, in milliseconds. */
  lockMs: number;
  stalledMs: number;
  /** The pauses between the tries, in milliseconds; `defaultPausesMs` by default. */
  pausesMs?: readonly number[];
  /** Told of the end of each try. */
  onTry?: (outcome: 'delivered' | 'failed' | 'given_up') => void;
  /** Milliseconds since 1970, by the clock that all processes have. */
  now: () => number;
  random?: () => number;
}

/**
 * Tells endpoints what has happened: plans a delivery for each happening and endpoint, and sends what is planned, at least once, by the
 * schedule above. A dead process loses nothing: plans are in a queue, and a try that nobody ends is made again by another process.
 */
export class WebhookSender {
  readonly #options: WebhookSenderOptions;
  readonly #endpoints: EndpointStore;
  readonly #open: OpenDeliveries;
  readonly #gates: EndpointGates;
  readonly #queue: DeliveryQueue<Delivery>;
  readonly #consumer: DeliveryConsumer<Delivery>;
  readonly #full: (error: Error) => void;
  readonly #stopping = new AbortController();
  readonly #now: () => number;
  readonly #pausesMs: readonly number[];

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
    this.#pausesMs = options.pausesMs ?? defaultPausesMs;
    const { connection, jobs, keyPrefix, logger, now, random = Math.random } = options;
    this.#now = now;
    this.#endpoints = new EndpointStore({ connection, keyPrefix });
    this.#open = new OpenDeliveries({
      connection,
      keyPrefix,
      forMs: deliverForMs + 24 * hour,
    });
    this.#gates = new EndpointGates({ now: () => performance.now(), random });
    const { warn } = throttledWarning(logger, 'webhook queue error');
    this.#full = throttledWarning(logger, 'webhook event not sent').warn;
    this.#queue = openDeliveries({ connection, keyPrefix, onError: warn });
    this.#consumer = new DeliveryConsumer({
      connection: jobs,
      keyPrefix,
      name: webhookQueueName,
      concurrency,
      lockMs: options.lockMs,
      stalledMs: options.stalledMs,
      pausesMs: this.#pausesMs,
      keep,
      random,
      run: (delivery, { id, failedTries }) => this.#try(delivery, id, failedTries),
      onError: warn,
    });
  }

  start(): void {
    this.#consumer.start();
  }

  /** Begins no further try. Those under way have a moment to end, and are made again by another process after that. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(), stopWithinMs);
    await this.#consumer.stop();
    clearTimeout(timer);
    await this.#queue.close();
  }

  /**
   * Plans what endpoints are to be told of this. The same may be told again: it is planned once.
   *
   * @throws {Error} of Redis. Some of them may have been planned then; tell all of them again.
   */
  async plan(happenings: readonly Happening[]): Promise<void> {
    const known = new Map<string, KnownEndpoint[]>();
    for (const happening of happenings) {
      const { tenant } = happening;
      const endpoints = known.get(tenant) ?? (await this.#endpoints.list(tenant));
      known.set(tenant, endpoints);
      const event = eventOf(happening);
      const { url } = happening;
      const named = url === undefined ? undefined : endpointAt(endpoints, url);
      for (const { id: endpointId, endpoint } of endpoints) {
        const isNamed = endpointId === named?.id;
        if (!isNamed && !wants(endpoint, event.type)) continue;
        await this.#add({ tenant, endpointId, event, since: this.#now(), ...(isNamed && { url }) });
      }
    }
  }

  async #add(delivery: Delivery): Promise<void> {
    const { endpointId, event } = delivery;
    const id = deliveryId(event, endpointId);
    const most = event.type.startsWith('response.') ? mostOpen.ofResponses : mostOpen.withRare;
    const entered = await this.#open.enter(endpointId, { id, key: this.#queue.keyOf(id) }, most);
    if (entered === 'entered') await this.#queue.add(id, delivery);
    if (entered === 'full')
      this.#full(new Error(`Endpoint ${endpointId} has ${most} deliveries that have not ended`));
  }

  async #try(delivery: Delivery, id: string, failedTries: number): Promise<Verdict> {
    let verdict: Verdict;
    try {
      verdict = await this.#verdictOf(delivery, id, failedTries);
      const isLast = verdict.kind === 'failed' && failedTries >= this.#pausesMs.length;
      if (isLast || verdict.kind === 'delivered' || verdict.kind === 'given_up') {
        await this.#open.leave(delivery.endpointId, id);
      }
    } catch (error) {
      // Redis is away. What was sent is sent again, by which an event may arrive twice.
      this.#options.logger.warn({ deliveryId: id, err: error }, 'webhook not sent');
      return { kind: 'later', afterMs: 5 * second };
    }
    if (verdict.kind !== 'later') this.#options.onTry?.(verdict.kind);
    return verdict;
  }

  async #verdictOf(delivery: Delivery, id: string, failedTries: number): Promise<Verdict> {
    const { tenant, endpointId, since, url } = delivery;
    const known = await this.#endpoints.get(tenant, endpointId);
    if (!known) return { kind: 'given_up', note: 'the endpoint was removed' };
    if (known.endpoint.disabledAt !== undefined)
      return { kind: 'given_up', note: 'the endpoint is disabled' };
    if (url !== undefined && !hasOrigin(known.endpoint, url))
      return { kind: 'given_up', note: 'the endpoint has another origin now' };
    if (failedTries > 0 && this.#now() > since + deliverForMs) {
      return { kind: 'given_up', note: 'not delivered within three days' };
    }
    const gate = this.#gates.enter({ tenant, endpointId, deliveryId: id });
    if ('afterMs' in gate) return { kind: 'later', afterMs: gate.afterMs };
    let answer: Answer = { fault: 'not sent' };
    try {
      answer = await this.#send(known.endpoint, delivery);
    } finally {
      gate.leave('status' in answer && isTaken(answer.status));
    }
    if ('fault' in answer) {
      // Not its fault: it is tried again at once, elsewhere.
      if (this.#stopping.signal.aborted) return { kind: 'later', afterMs: 0 };
      return { kind: 'failed', note: answer.fault };
    }
    if (isTaken(answer.status)) return { kind: 'delivered', note: `answered ${answer.status}` };
    if (answer.status === 410 && url !== undefined) return { kind: 'given_up', note: 'answered 410' };
    if (answer.status === 410) {
      await this.#endpoints.change(tenant, endpointId, (endpoint) => ({
        ...endpoint,
        disabledAt: this.#now(),
      }));
      return { kind: 'given_up', note: 'answered 410: the endpoint is disabled' };
    }
    return {
      kind: 'failed',
      note: `answered ${answer.status}`,
      ...(answer.retryAfterMs !== undefined && { waitMs: answer.retryAfterMs }),
    };
  }

  async #send(endpoint: StoredEndpoint, { tenant, event, url = endpoint.url }: Delivery): Promise<Answer> {
    const { allowPrivate, sendEvent: send = sendEvent } = this.#options;
    try {
      checkEndpointUrl(url, { allowPrivate });
    } catch {
      return { fault: 'the address is not allowed here' };
    }
    const now = this.#now();
    return send(
      {
        tenant,
        url,
        id: event.id,
        timestamp: Math.floor(now / 1000),
        body: JSON.stringify(event),
        secrets: secretsAt(endpoint, now),
      },
      { ...this.#options, signal: this.#stopping.signal },
    );
  }
}

/** The queue of all deliveries. */
export function openDeliveries(options: Omit<DeliveryQueueOptions, 'name'>): DeliveryQueue<Delivery> {
  return new DeliveryQueue<Delivery>({ ...options, name: webhookQueueName });
}

/**
 * Sends a delivery again that has ended, to its endpoint as it is now, under the same id. A worker does it.
 *
 * @param now milliseconds since 1970: it is tried for three days from then on.
 */
export async function sendAgain(
  deliveries: DeliveryQueue<Delivery>,
  id: string,
  now: number,
): Promise<'begun' | 'under_way' | 'unknown'> {
  return deliveries.beginAnew(id, (delivery) => ({ ...delivery, since: now }));
}

export function isTaken(status: number): boolean {
  return status >= 200 && status < 300;
}
