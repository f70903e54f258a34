import { type FakeUpstream, freePort, startFakeUpstream } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firstModel } from './choose-model.ts';
import { Endpoint, readUrl } from './exchange/endpoint.ts';

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await startFakeUpstream();
});
afterEach(() => upstream.close());

async function modelAt(url: string): Promise<string> {
  const endpoint = new Endpoint({ url: readUrl(url), headers: {} });
  try {
    return await firstModel(endpoint, { name: 'a', key: 'sk-a' }, url);
  } finally {
    await endpoint.close();
  }
}

describe('the model of a run', () => {
  it('is the first one that the endpoint lists', async () => {
    upstream.onOther(({ json }) => json(200, { object: 'list', data: [{ id: 'one' }, { id: 'two' }] }));
    expect(await modelAt(upstream.baseUrl)).toBe('one');
    expect(upstream.requests[0]).toMatchObject({ method: 'GET', path: '/v1/models' });
  });

  it.each([
    [200, { data: [] }, /^--model: \S+\/models lists none; name one/],
    [200, 'text', /^--model: \S+\/models lists none/],
    [401, { error: { code: 'invalid_api_key' } }, /answered 401 invalid_api_key; name a key with --key/],
    [404, {}, /answered 404; name one with --model/],
  ])('has to be named when the answer is %i %j', async (status, body, message) => {
    upstream.onOther(({ json }) => json(status, body));
    await expect(modelAt(upstream.baseUrl)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(message),
    });
  });

  it('cannot be found where nothing answers', async () => {
    await expect(modelAt(`http://127.0.0.1:${await freePort()}/v1`)).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(/^Nothing answers at \S+ \(.*ECONNREFUSED.*\): start the service/),
    });
  });
});
