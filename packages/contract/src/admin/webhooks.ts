import { z } from 'zod';
import { moment, count } from './values.ts';

/** How far a delivery is. `waiting` includes one that waits for its next try. */
export const deliveryStates = ['waiting', 'active', 'delivered', 'failed'] as const;

/** A message to one endpoint, and what came of it. It holds nothing of the content of a response. */
export const deliverySchema = z.object({
  id: z.string(),
  tenant: z.string(),
  endpoint: z.string(),
  /** The type of the event. */
  event: z.string(),
  /** The id of the response, of the batch or of the limit that it is about. */
  subject: z.string(),
  state: z.enum(deliveryStates),
  tries: count,
  /** How the last try ended, in a few words. */
  note: z.string().nullable(),
  added_at: moment,
  next_at: moment.nullable(),
  ended_at: moment.nullable(),
});
export type DeliveryRow = z.output<typeof deliverySchema>;

export const deliveryListSchema = z.object({ object: z.literal('list'), data: z.array(deliverySchema) });
export type DeliveryList = z.output<typeof deliveryListSchema>;

/** A delivery that is sent again: a worker does it. */
export const sentDeliverySchema = z.object({ object: z.literal('sent_delivery'), id: z.string() });
export type SentDelivery = z.output<typeof sentDeliverySchema>;
