import type { EndFact } from '@sluice/response-store';
import { describe, expect, it } from 'vitest';
import { endedResponse } from './worker-webhooks.ts';

const end = {
  id: 'resp_1',
  tenant: 'team-a',
  status: 'completed',
  tier: 'default',
  background: true,
  endedAt: 1_700_000_000_000,
} as EndFact;

describe('what endpoints are told of', () => {
  it('is the end of a response in the background', () => {
    expect(endedResponse(end)).toMatchObject({ id: 'resp_1', type: 'response.completed' });
    expect(endedResponse({ ...end, background: false })).toBeUndefined();
  });

  it('is that of a line of a batch only where it names an address', () => {
    const line = { ...end, tier: 'batch' };
    expect(endedResponse(line)).toBeUndefined();
    const webhookUrl = 'https://hooks.example.com/jobs/17';
    expect(endedResponse({ ...line, webhookUrl })).toMatchObject({ url: webhookUrl });
  });
});
