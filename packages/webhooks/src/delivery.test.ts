import { describe, expect, it } from 'vitest';
import { deliveryId, eventOf, webhookQueueName } from './delivery.ts';

describe('a delivery', () => {
  it('is in a queue that no model can have', () => {
    expect(() => decodeURIComponent(webhookQueueName)).toThrow(URIError);
  });

  it('has one id for each end and endpoint, however often the end is told', () => {
    const end = {
      id: 'create-response_1',
      tenant: 'team-a',
      type: 'response.completed',
      at: 1_500,
    } as const;
    const event = eventOf(end);
    expect(eventOf({ ...end, at: 1_700 }).id).toBe(event.id);
    expect(event.created_at).toBe(1);
    expect(eventOf({ ...end, type: 'response.failed' }).id).not.toBe(event.id);
    // BullMQ takes no colon in the id of a job, and Standard Webhooks no full stop in that of an event.
    expect(deliveryId(event, 'we_1')).toMatch(/^evt_[0-9a-f]{32}-we_1$/);
  });
});
