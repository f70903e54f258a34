import {
  type createWebhookEndpointSchema,
  type Page,
  pageBehind,
  randomSuffix,
  ServiceError,
  type updateWebhookEndpointSchema,
  type WebhookEndpoint,
  type WebhookEventType,
} from '@sluice/contract';
import { randomBytes, serviceVersion } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import { eventOf } from './delivery.ts';
import { EndpointStore, mostEndpoints } from './endpoint-store.ts';
import { checkEndpointUrl } from './endpoint-url.ts';
import { type GuardedLookup, guardedLookup } from './guarded-lookup.ts';
import { sendEvent } from './send-event.ts';
import { newSecret } from './signature.ts';
import { endpointAt, presentEndpoint, secretsAt, type StoredEndpoint } from './stored-endpoint.ts';
import { isTaken } from './webhook-sender.ts';

/** How long a secret that was replaced signs on, if its owner wants that, in milliseconds: a day. */
const oldSecretMs = 86_400_000;

export interface WebhookEndpointsOptions {
  connection: Pick<Redis, 'hget' | 'hscan' | 'eval'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** Whether endpoints may be of private networks. */
  allowPrivate: boolean;
  timeoutMs: number;
  /** Resolves the hosts of endpoints. */
  lookup: GuardedLookup;
  userAgent: string;
  /** Milliseconds since 1970, by the clock that all processes have. */
  now: () => number;
}

export type EndpointWithSecret = WebhookEndpoint & { signing_secret: string };

/** The settings of webhooks. */
export interface WebhookSettings {
  enabled: boolean;
  allowPrivateNetworks: boolean;
  timeoutMs: number;
}

/** The endpoints of a process that can send to them; undefined where webhooks are switched off. */
export function openEndpoints(
  settings: WebhookSettings,
  store: Pick<WebhookEndpointsOptions, 'connection' | 'keyPrefix' | 'now'>,
): WebhookEndpoints | undefined {
  return settings.enabled ? new WebhookEndpoints({ ...store, ...sendingBy(settings) }) : undefined;
}

/** How events are sent by these settings. */
export function sendingBy({ allowPrivateNetworks: allowPrivate, timeoutMs }: WebhookSettings) {
  return {
    allowPrivate,
    timeoutMs,
    lookup: guardedLookup({ allowPrivate }),
    userAgent: `Sluice/${serviceVersion}`,
  };
}

/**
 * The endpoints of tenants, as their owners manage them. Every call is of one tenant, and that of another tenant is unknown to it. All
 * throw {ServiceError} `not_found` for an endpoint that is not there.
 */
export class WebhookEndpoints {
  readonly #options: WebhookEndpointsOptions;
  readonly #store: EndpointStore;
  /** Tenants of which an endpoint is tried at this moment. */
  readonly #trying = new Set<string>();
  readonly #now: () => number;

  constructor(options: WebhookEndpointsOptions) {
    this.#options = options;
    this.#store = new EndpointStore(options);
    this.#now = options.now;
  }

  /** @throws {ServiceError} for a URL that is not allowed, and for an endpoint too many. */
  async create(
    tenant: string,
    { name, url, event_types: eventTypes }: z.infer<typeof createWebhookEndpointSchema>,
  ): Promise<EndpointWithSecret> {
    checkEndpointUrl(url, this.#options);
    const now = this.#now();
    const secret = newSecret();
    const endpoint = { name, url, eventTypes, createdAt: now, updatedAt: now, secret };
    const id = `we_${randomSuffix(randomBytes)}`;
    if (!(await this.#store.add(tenant, id, endpoint))) {
      throw new ServiceError(
        'invalid_request',
        `There are ${mostEndpoints} webhook endpoints already; delete one first.`,
      );
    }
    return { ...presentEndpoint({ id, endpoint }), signing_secret: secret };
  }

  /** The newest first. `after` is the id of the last one before. */
  async list(
    tenant: string,
    { limit, order, after }: { limit: number; order: 'asc' | 'desc'; after?: string | undefined },
  ): Promise<Page<WebhookEndpoint>> {
    const newest = (await this.#store.list(tenant)).map(presentEndpoint);
    const all = order === 'desc' ? newest : newest.toReversed();
    return pageBehind(all, { limit, after }, "'after' must be the id of a webhook endpoint.");
  }

  async get(tenant: string, id: string): Promise<WebhookEndpoint> {
    const known = await this.#store.get(tenant, id);
    if (!known) throw unknownEndpoint();
    return presentEndpoint(known);
  }

  /** Another URL switches a disabled endpoint on again. What is the same already changes nothing. */
  async update(
    tenant: string,
    id: string,
    { name, url, event_types: eventTypes }: z.infer<typeof updateWebhookEndpointSchema>,
  ): Promise<WebhookEndpoint> {
    if (url !== undefined) checkEndpointUrl(url, this.#options);
    const endpoint = await this.#store.change(tenant, id, (before) => {
      const after: StoredEndpoint = {
        ...before,
        ...(name !== undefined && { name }),
        ...(url !== undefined && { url }),
        ...(eventTypes !== undefined && { eventTypes }),
      };
      if (url !== undefined) delete after.disabledAt;
      const isSame = JSON.stringify(after) === JSON.stringify(before);
      return isSame ? before : { ...after, updatedAt: this.#now() };
    });
    if (!endpoint) throw unknownEndpoint();
    return presentEndpoint({ id, endpoint });
  }

  async remove(tenant: string, id: string): Promise<void> {
    if (!(await this.#store.change(tenant, id, () => undefined))) throw unknownEndpoint();
  }

  /** Makes another secret. `keepOld`: that of before signs as well for a day. */
  async rotateSecret(tenant: string, id: string, keepOld: boolean): Promise<EndpointWithSecret> {
    const secret = newSecret();
    const endpoint = await this.#store.change(tenant, id, ({ oldSecret: _, ...before }) => ({
      ...before,
      secret,
      updatedAt: this.#now(),
      ...(keepOld && { oldSecret: { secret: before.secret, until: this.#now() + oldSecretMs } }),
    }));
    if (!endpoint) throw unknownEndpoint();
    return { ...presentEndpoint({ id, endpoint }), signing_secret: secret };
  }

  /**
   * Sends a sample event at once and once, and returns the status of the answer. A tenant tries one endpoint at a time in each process.
   *
   * @throws {ServiceError} `webhook_endpoint_failed`, which says what came of it; `rate_limit_exceeded` while another try is under way.
   */
  async test(tenant: string, id: string, type: WebhookEventType): Promise<number> {
    const known = await this.#store.get(tenant, id);
    if (!known) throw unknownEndpoint();
    checkEndpointUrl(known.endpoint.url, this.#options);
    if (this.#trying.has(tenant)) {
      throw new ServiceError(
        'rate_limit_exceeded',
        'An endpoint is being tried already. Wait for its answer.',
      );
    }
    this.#trying.add(tenant);
    try {
      return await this.#try(tenant, known.endpoint, type);
    } finally {
      this.#trying.delete(tenant);
    }
  }

  /**
   * Checks an address that a request names for news of one response.
   *
   * @throws {ServiceError} `invalid_value` for `webhook_url`, unless the tenant has an endpoint at the same origin.
   */
  async checkUrlOfRequest(tenant: string, url: string): Promise<void> {
    const param = 'webhook_url';
    checkEndpointUrl(url, this.#options, param);
    if (endpointAt(await this.#store.list(tenant), url)) return;
    const message = `'${param}' must have the scheme, host and port of one of your webhook endpoints, whose secret signs: make one first.`;
    throw new ServiceError('invalid_value', message, { param });
  }

  async #try(tenant: string, endpoint: StoredEndpoint, type: WebhookEventType): Promise<number> {
    const now = this.#now();
    const event = eventOf({ id: `sample_${randomSuffix(randomBytes)}`, tenant, type, at: now });
    const answer = await sendEvent(
      {
        tenant,
        url: endpoint.url,
        id: event.id,
        timestamp: Math.floor(now / 1000),
        body: JSON.stringify(event),
        secrets: secretsAt(endpoint, now),
      },
      this.#options,
    );
    if ('fault' in answer) throw failed(answer.fault);
    if (!isTaken(answer.status)) throw failed(`it answered ${answer.status}`);
    return answer.status;
  }
}

function unknownEndpoint(): ServiceError {
  return new ServiceError('not_found', 'There is no webhook endpoint with this id.');
}

function failed(reason: string): ServiceError {
  return new ServiceError('webhook_endpoint_failed', `The endpoint did not take the event: ${reason}.`);
}
