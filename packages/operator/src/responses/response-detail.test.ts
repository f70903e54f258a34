import { ServiceError } from '@sluice/contract';
import { responseDetailSchema } from '@sluice/contract/admin';
import type { ResponseSummary } from '@sluice/response-store';
import { describe, expect, it } from 'vitest';
import { type DetailSources, responseDetail } from './response-detail.ts';

const id = `create-response_0${'a'.repeat(31)}`;
const secret = 'a-secret';

const summary: ResponseSummary = {
  ...{ id, tenant: 't', status: 'completed', serviceTier: 'default', queue: 'm', requestId: 'req_1' },
  ...{ acceptedAt: 1_000, startedAt: 2_000, attempts: 1, streams: true, sequenceNumber: 9 },
  ...{ previousId: undefined, askedBytes: 40 },
  request: {
    ...{
      model: 'm',
      stream: true,
      instructions: secret,
      temperature: 0,
      metadata: { job: '7' },
      user: secret,
    },
    tools: [{ type: 'function', name: secret, parameters: { secret } }],
    tool_choice: { type: 'function', name: secret },
    text: { format: { type: 'json_schema', name: secret, schema: { secret } } },
  },
  end: { status: 'completed', completed_at: 5, incomplete_details: null, error: null, usage: null },
};

function sources(over: Partial<DetailSources> = {}): DetailSources {
  return {
    index: { isKept: true, story: () => Promise.resolve(undefined) },
    store: { readSummary: () => Promise.resolve(summary), hasLog: () => Promise.resolve(true) },
    settings: { models: [{ id: 'm', queue: 'm' }] },
    positionOf: () => Promise.resolve(undefined),
    now: () => 9_000,
    ...over,
  };
}

describe('the detail of a response', () => {
  it('has what its request asked for, and nothing of its content', async () => {
    const detail = responseDetailSchema.parse(await responseDetail(sources(), id));
    expect(detail.parameters).toEqual({
      ...{ model: 'm', stream: true, temperature: 0 },
      ...{ tools: ['function'], tool_choice: 'function', text_format: 'json_schema' },
    });
    expect(JSON.stringify(detail)).not.toContain(secret);
    expect(detail.events).toEqual({ is_kept: true, last: 9 });
  });

  it('is that of the record while the index does not answer', async () => {
    const story = () => Promise.reject(new ServiceError('server_is_overloaded'));
    const detail = await responseDetail(sources({ index: { isKept: true, story } }), id);
    expect(detail.phases).toEqual([
      { kind: 'waiting', from: 1_000, to: 2_000, because: null },
      { kind: 'generating', from: 2_000, to: 5_000, because: null },
    ]);
  });

  it('is refused while the index does not answer for one without a record', async () => {
    const story = () => Promise.reject(new ServiceError('server_is_overloaded'));
    const store = { readSummary: () => Promise.resolve(undefined), hasLog: () => Promise.resolve(false) };
    await expect(
      responseDetail(sources({ index: { isKept: true, story }, store }), id),
    ).rejects.toMatchObject({
      code: 'server_is_overloaded',
    });
    await expect(responseDetail(sources({ store }), id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('says where a response stands that waits, and about when it starts', async () => {
    const waiting = { ...summary, status: 'queued', startedAt: undefined, end: undefined } as const;
    const store = { readSummary: () => Promise.resolve(waiting), hasLog: () => Promise.resolve(true) };
    const positionOf = () => Promise.resolve({ position: 3, startsInMs: 500.4 });
    expect(await responseDetail(sources({ store, positionOf }), id)).toMatchObject({
      ...{ queue_position: 3, estimated_start_at: 9_500 },
      phases: [{ kind: 'waiting', from: 1_000, to: null }],
    });
  });
});
