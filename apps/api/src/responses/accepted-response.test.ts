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

  it('takes a large request out of the record that it is made from, and no small one', () => {
    const store = { read: () => Promise.resolve(undefined) };
    const [large, small] = [record(100_000), record(0)];
    expect(AcceptedResponse.takenFrom(large, store).held).toBeUndefined();
    expect(large.request).toEqual({ model: 'm', stream: true });
    expect(AcceptedResponse.takenFrom(small, store).held).toEqual(response);
    expect(small.request).toEqual(request);
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
