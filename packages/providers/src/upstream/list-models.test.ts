import { type FakeUpstream, freePort, startFakeUpstream } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listModels } from './list-models.ts';

let upstream: FakeUpstream;
beforeEach(async () => {
  upstream = await startFakeUpstream();
});
afterEach(() => upstream.close());

const list = (withinMs = 5000) =>
  listModels({ url: `${upstream.baseUrl}/models`, headers: { authorization: 'Bearer k1' }, withinMs });

describe('the list of models', () => {
  it('has the names that are plain', async () => {
    upstream.onOther(({ json }) =>
      json(200, {
        data: [
          { id: 'a/b:c', created: 5 },
          { id: 'qwen3' },
          { id: '${HOME}' },
          { id: 'a b' },
          { id: 5 },
          null,
        ],
      }),
    );
    expect(await list()).toEqual({
      kind: 'listed',
      models: [
        { id: 'a/b:c', created: 5 },
        { id: 'qwen3', created: 0 },
      ],
    });
    expect(upstream.requests[0]).toMatchObject({
      path: '/v1/models',
      headers: { authorization: 'Bearer k1' },
    });
  });

  it('is refused by a status, and by anything that is no list', async () => {
    upstream.onOther(({ json }) => json(401, {}));
    expect(await list()).toEqual({ kind: 'refused', status: 401 });
    upstream.onOther(({ json }) => json(200, { models: [] }));
    expect(await list()).toEqual({ kind: 'refused', status: 200 });
  });

  it('takes the key nowhere else', async () => {
    upstream.onOther(({ text }) => text(302, 'text/plain', '', { location: `${upstream.url}/elsewhere` }));
    expect(await list()).toEqual({ kind: 'silent' });
    expect(upstream.requests).toHaveLength(1);
  });

  it('is given up when it takes too long, is too long, or is not there', async () => {
    upstream.onOther(({ hang }) => hang());
    expect(await list(50)).toEqual({ kind: 'silent' });
    upstream.onOther(async ({ stream, signal }) => {
      const out = stream();
      while (!signal.aborted) await out.raw(' '.repeat(65_536));
    });
    expect(await list()).toEqual({ kind: 'silent' });
    const url = `http://127.0.0.1:${await freePort()}/v1/models`;
    expect(await listModels({ url, withinMs: 5000 })).toEqual({ kind: 'silent' });
    upstream.onOther(({ text }) => text(200, 'text/plain', 'no JSON'));
    expect(await list()).toEqual({ kind: 'silent' });
  });
});
