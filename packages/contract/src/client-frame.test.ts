import { describe, expect, it } from 'vitest';
import { parseClientFrame } from './client-frame.ts';

const create = { type: 'response.create', model: 'm', input: 'Hi' };

describe('a frame of a client', () => {
  it('is a create request, always streamed', () => {
    expect(parseClientFrame({ ...create, stream: 'yes', stream_options: 1, background: null })).toMatchObject(
      {
        kind: 'create',
        streamId: undefined,
        generates: true,
        request: { model: 'm', stream: true },
      },
    );
    const { request } = parseClientFrame({ ...create, background: false, generate: null }) as {
      request: object;
    };
    expect(Object.keys(request).toSorted()).toEqual(['input', 'model', 'stream']);
  });

  it('belongs to a lane, also when it is refused', () => {
    expect(parseClientFrame({ ...create, stream_id: 'a' })).toMatchObject({ kind: 'create', streamId: 'a' });
    expect(parseClientFrame({ ...create, stream_id: null })).toMatchObject({ streamId: undefined });
    expect(
      parseClientFrame({ ...create, stream_id: 'a', model: 5, previous_response_id: 'p' }),
    ).toMatchObject({
      kind: 'refused',
      streamId: 'a',
      previousId: 'p',
      error: { code: 'invalid_type', param: 'model' },
    });
  });

  it.each(['', 'x'.repeat(257), 5, {}])('is refused with the stream_id %j', (streamId) => {
    expect(parseClientFrame({ ...create, stream_id: streamId })).toMatchObject({
      kind: 'refused',
      error: { code: 'invalid_value', param: 'stream_id' },
    });
  });

  it('that generates nothing may say nothing', () => {
    expect(parseClientFrame({ ...create, input: [], generate: false })).toMatchObject({
      kind: 'create',
      generates: false,
    });
    expect(parseClientFrame({ ...create, input: [] })).toMatchObject({ error: { code: 'empty_array' } });
  });

  it('is a wish to steer', () => {
    expect(parseClientFrame({ type: 'response.steer', stream_id: 'a', input: 'x' })).toEqual({
      kind: 'steer',
      streamId: 'a',
      steer: { input: 'x' },
    });
  });

  it.each([null, 'x', [], 5])('is not %j', (value) => {
    expect(parseClientFrame(value)).toMatchObject({ kind: 'refused', error: { code: 'invalid_type' } });
  });
});
