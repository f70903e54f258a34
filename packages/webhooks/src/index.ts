export type { EndedResponse, Delivery } from './delivery.ts';
export { guardedDispatcher } from './guarded-dispatcher.ts';
export {
  type EndpointWithSecret,
  WebhookEndpoints,
  type WebhookEndpointsOptions,
} from './webhook-endpoints.ts';
export { openDeliveries, WebhookSender, type WebhookSenderOptions } from './webhook-sender.ts';
