export type { Delivery, Happening } from './delivery.ts';
export { shownDeliveries } from './delivery-row.ts';
export { guardedLookup } from './guarded-lookup.ts';
export {
  type EndpointWithSecret,
  openEndpoints,
  sendingBy,
  WebhookEndpoints,
  type WebhookEndpointsOptions,
  type WebhookSettings,
} from './webhook-endpoints.ts';
export type { SendEvent } from './send-event.ts';
export {
  sendAgain,
  defaultPausesMs,
  openDeliveries,
  WebhookSender,
  type WebhookSenderOptions,
} from './webhook-sender.ts';
