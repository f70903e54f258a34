import { type DeliveryRow, deliveryStates } from '@sluice/contract/admin';
import type { KeptDelivery } from '@sluice/queue';
import type { Delivery } from './delivery.ts';
import { openDeliveries, sendAgain } from './webhook-sender.ts';

/** A delivery as operators are shown it. */
function deliveryRow({
  id,
  data,
  state,
  tries,
  addedAt,
  endedAt,
  nextAt,
  note,
}: KeptDelivery<Delivery>): DeliveryRow {
  return {
    id,
    tenant: data.tenant,
    endpoint: data.endpointId,
    event: data.event.type,
    subject: data.event.data.id,
    state,
    tries,
    note: note ?? null,
    added_at: addedAt,
    next_at: nextAt ?? null,
    ended_at: endedAt ?? null,
  };
}

/** The deliveries of a service, for its operators. `now` is in milliseconds since 1970. */
export function shownDeliveries(options: Parameters<typeof openDeliveries>[0] & { now: () => number }) {
  const queue = openDeliveries(options);
  return {
    /** The newest first; all of them without tenants or states. */
    async list({
      tenants,
      states = deliveryStates,
      limit,
    }: {
      tenants?: readonly string[] | undefined;
      states?: readonly DeliveryRow['state'][] | undefined;
      limit: number;
    }): Promise<DeliveryRow[]> {
      const isWanted = (each: Delivery) => tenants === undefined || tenants.includes(each.tenant);
      return (await queue.list(states, { limit, isWanted })).map(deliveryRow);
    },
    sendAgain: (id: string) => sendAgain(queue, id, options.now()),
    close: () => queue.close(),
  };
}
