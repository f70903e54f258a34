import { responseFor } from '@sluice/contract';
import type { ResponseRecord } from '@sluice/response-store';
import { describe, expect, it, vi } from 'vitest';
import { AcceptedResponse } from './accepted-response.ts';

const id = `create-response_${'a'.repeat(32)}`;
const request = { model: 'm', instructions: 'Be brief.', stream: true };
const response = responseFor(request, { id, createdAt: 1, serviceTier: 'default' });

function record(largeRequestBytes: number): ResponseRecord {
  return {
    id,
    tenant: 'a',
    status: 'queued',
    request: { ...request },
    largeRequestBytes,
    serviceTier: 'default',
    queue: 'm',
    acceptedAt: 1_000,
    startedAt: undefined,
    streams: true,
    sequenceNumber: 1,
    isEnqueued: true,
    end: undefined,
    longEndBytes: 0,
  };
}

describe('the response as it was accepted', () => {
  it('is held while its request is small', async () => {
    const store = { read: vi.fn(() => Promise.resolve(undefined)) };
    const accepted = AcceptedResponse.of(response, { store, largeBytes: 0 });
    expect(accepted.held).toBe(response);
    expect(await accepted.whole()).toBe(response);
    expect(store.read).not.toHaveBeenCalled();
  });

  it('is read whenever it is told, when its request is large', async () => {
    const store = { read: vi.fn(() => Promise.resolve(record(100_000))) };
    const accepted = AcceptedResponse.of(response, { store, largeBytes: 100_000 });
    expect(accepted.held).toBeUndefined();
    expect([await accepted.whole(), await accepted.whole()]).toEqual([response, response]);
    expect(store.read).toHaveBeenCalledTimes(2);
  });

  it('holds that of a record unless its request is large', () => {
    const store = { read: () => Promise.resolve(undefined) };
    expect(AcceptedResponse.takenFrom(record(100_000), store)).toMatchObject({
      held: undefined,
      largeBytes: 100_000,
    });
    expect(AcceptedResponse.takenFrom(record(0), store)).toMatchObject({ held: response, largeBytes: 0 });
  });

  it('is a failure when it is no longer there', async () => {
    const store = { read: () => Promise.resolve(undefined) };
    await expect(AcceptedResponse.of(response, { store, largeBytes: 100_000 }).whole()).rejects.toMatchObject(
      {
        code: 'server_is_overloaded',
      },
    );
  });
});
