import { createHash } from 'node:crypto';
import type { WebhookEvent, WebhookEventType } from '@sluice/contract';

/** The name of the queue in BullMQ. It is the encoded name of no model, since it cannot be decoded. */
export const webhookQueueName = 'webhooks%';

/** An event on its way to one endpoint. */
export interface Delivery {
  tenant: string;
  endpointId: string;
  event: WebhookEvent;
  /** The address, in place of that of the endpoint; absent for that. */
  url?: string | undefined;
  /** Since when it is to be delivered, in milliseconds since 1970. */
  since: number;
}

/** Something that endpoints of a tenant are told of. */
export interface Happening {
  /** The same each time that it is told. With the type it makes the id of the event. */
  id: string;
  tenant: string;
  type: WebhookEventType;
  /** By the store's clock, in milliseconds since 1970. */
  at: number;
  /** Its id alone by default. */
  data?: WebhookEvent['data'];
  /** An address at the origin of an endpoint of the tenant, which is told in place of that endpoint's own. */
  url?: string | undefined;
}

/** Its event. The same happening makes the same event, however often it is told. */
export function eventOf({ id, type, at, data = { id } }: Happening): WebhookEvent {
  const digest = createHash('sha256').update(`${type} ${id}`).digest('hex').slice(0, 32);
  return {
    id: `evt_${digest}`,
    object: 'event',
    type,
    created_at: Math.floor(at / 1000),
    data,
  };
}

/** One for each event and endpoint. BullMQ takes no colon in it. */
export function deliveryId(event: WebhookEvent, endpointId: string): string {
  return `${event.id}-${endpointId}`;
}
