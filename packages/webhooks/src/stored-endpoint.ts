import { type WebhookEndpoint, type WebhookEventType, webhookEventTypes } from '@sluice/contract';
import { z } from 'zod';
import { hintOf } from './signature.ts';

const storedEndpointSchema = z.object({
  name: z.string(),
  url: z.string(),
  // A later release may store types that this one does not know.
  eventTypes: z.array(z.string()),
  /** In milliseconds since 1970, as all times here. */
  createdAt: z.number(),
  updatedAt: z.number(),
  secret: z.string(),
  /** The secret before, which signs as well until then. */
  oldSecret: z.object({ secret: z.string(), until: z.number() }).optional(),
  /** When it answered 410: it is sent nothing until its owner changes its URL. */
  disabledAt: z.number().optional(),
});

/** An endpoint of a tenant, as it is kept. */
export type StoredEndpoint = z.infer<typeof storedEndpointSchema>;

/** An endpoint and its id. */
export interface KnownEndpoint {
  id: string;
  endpoint: StoredEndpoint;
}

/** Undefined for what no release of this service has written. */
export function parseEndpoint(text: string): StoredEndpoint | undefined {
  try {
    const parsed = storedEndpointSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

export function wants({ eventTypes, disabledAt }: StoredEndpoint, type: WebhookEventType): boolean {
  return disabledAt === undefined && eventTypes.includes(type);
}

/** The newest of endpoints that is enabled and at the origin of a URL: its secret signs what is sent there. */
export function endpointAt(endpoints: readonly KnownEndpoint[], url: string): KnownEndpoint | undefined {
  return endpoints.find(({ endpoint }) => endpoint.disabledAt === undefined && hasOrigin(endpoint, url));
}

/** Whether a URL is at the scheme, host and port of an endpoint. */
export function hasOrigin(endpoint: StoredEndpoint, url: string): boolean {
  return URL.parse(endpoint.url)?.origin === URL.parse(url)?.origin;
}

/** The secrets that sign at a moment, in milliseconds since 1970. */
export function secretsAt({ secret, oldSecret }: StoredEndpoint, now: number): string[] {
  return oldSecret && oldSecret.until > now ? [secret, oldSecret.secret] : [secret];
}

/** The endpoint as its owner is shown it. */
export function presentEndpoint({ id, endpoint }: KnownEndpoint): WebhookEndpoint {
  const seconds = (ms: number) => Math.floor(ms / 1000);
  return {
    id,
    object: 'webhook_endpoint',
    name: endpoint.name,
    url: endpoint.url,
    event_types: webhookEventTypes.filter((type) => endpoint.eventTypes.includes(type)),
    created_at: seconds(endpoint.createdAt),
    updated_at: seconds(endpoint.updatedAt),
    signing_secret_hint: hintOf(endpoint.secret),
    status: endpoint.disabledAt === undefined ? 'enabled' : 'disabled',
  };
}
