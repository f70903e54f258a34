import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { actionToken } from './action-token.ts';
import { ApiError, UnreachableError } from './api-error.ts';
import { act, adminUrl, getJson, NotUnlockedError } from './request.ts';

const fetched = vi.fn<(url: string, init: RequestInit) => Promise<Response>>();
const kept = new Map<string, string>();

beforeEach(() => {
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  vi.stubGlobal('fetch', fetched);
  fetched.mockReset();
  actionToken.set(undefined);
});

afterEach(() => actionToken.question?.answer(undefined));
afterAll(() => vi.unstubAllGlobals());

const json = (body: unknown, status = 200) => Response.json(body, { status });
const refusal = (status: number, code: string, param: string | null = null) =>
  json({ error: { type: 'invalid_request_error', code, message: `It is ${code}.`, param } }, status);
const sentTokens = () =>
  fetched.mock.calls.map(([, { headers }]) => new Headers(headers).get('sluice-action-token'));

/** Answers as a service whose action token is `right`. */
function serviceWithToken(right: string): void {
  fetched.mockImplementation(async (_url, { headers }) =>
    new Headers(headers).get('sluice-action-token') === right
      ? json({ done: true })
      : refusal(401, 'invalid_action_token'),
  );
}

/** Waits until the dialog is asked for, and answers it. */
async function answerDialog(token: string | undefined): Promise<string | undefined> {
  await vi.waitFor(() => expect(actionToken.question).toBeDefined());
  const reason = actionToken.question?.reason;
  actionToken.question?.answer(token);
  return reason;
}

describe('the address of a request', () => {
  it.each([
    [undefined, '/admin/v1/responses'],
    [{}, '/admin/v1/responses'],
    [{ limit: 5, live: false, after: undefined }, '/admin/v1/responses?limit=5&live=false'],
    [{ status: ['failed', 'queued'], none: [] }, '/admin/v1/responses?status=failed&status=queued'],
    [{ q: 'a&b=c d/é' }, '/admin/v1/responses?q=a%26b%3Dc+d%2F%C3%A9'],
  ])('has the search %j', (search, expected) => {
    expect(adminUrl('/responses', search)).toBe(expected);
  });
});

describe('reading', () => {
  it('gives what the service says, and sends the token of the tab', async () => {
    fetched.mockImplementation(async () => json({ answer: 42 }));
    expect(await getJson('/overview')).toEqual({ answer: 42 });
    actionToken.set('secret');
    await getJson('/overview');
    expect(sentTokens()).toEqual([null, 'secret']);
  });

  it('rejects with the members of an error', async () => {
    fetched.mockImplementation(async () => refusal(400, 'invalid_value', 'status'));
    const error = await getJson('/responses').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      status: 400,
      code: 'invalid_value',
      param: 'status',
      message: 'It is invalid_value.',
    });
  });

  it.each([
    ['a plain sentence', 502, 'Bad gateway\n', 'Bad gateway'],
    ['the page of a proxy', 502, '<html>Bad gateway</html>', 'The service answered with status 502'],
    ['nothing', 500, '', 'The service answered with status 500'],
    ['JSON that is no error', 403, '{"error":"no"}', '{"error":"no"}'],
    ['an error without words', 403, '{"error":{}}', '{"error":{}}'],
    ['null', 403, 'null', 'null'],
  ])('makes an error of %s', async (_what, status, body, message) => {
    fetched.mockImplementation(async () => new Response(body, { status }));
    const error = await getJson('/overview').catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      status,
      code: `http_${status}`,
      message: expect.stringContaining(message),
    });
  });

  it('tells a service that is not there from a page that no longer wants to know', async () => {
    fetched.mockRejectedValue(new TypeError('Failed to fetch'));
    await expect(getJson('/overview')).rejects.toBeInstanceOf(UnreachableError);
    const reason = new Error('left the page');
    fetched.mockRejectedValue(reason);
    await expect(getJson('/overview', {}, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it('never asks for a token', async () => {
    fetched.mockImplementation(async () => refusal(401, 'invalid_action_token'));
    await expect(getJson('/overview')).rejects.toMatchObject({ status: 401 });
    expect(actionToken.question).toBeUndefined();
  });
});

describe('acting', () => {
  it('asks for the token first, and sends nothing before it has one', async () => {
    serviceWithToken('right');
    const acting = act('POST', '/queues/pause', { body: { model: 'm' } });
    await vi.waitFor(() => expect(actionToken.question?.reason).toBe('missing'));
    expect(fetched).not.toHaveBeenCalled();
    await answerDialog('right');
    expect(await acting).toEqual({ done: true });
    const [url, { method, body, headers }] = fetched.mock.calls[0] ?? ['', {}];
    expect([url, method, body]).toEqual(['/admin/v1/queues/pause', 'POST', '{"model":"m"}']);
    expect(new Headers(headers).get('content-type')).toBe('application/json');
  });

  it('asks again as often as the token is wrong, and keeps the right one', async () => {
    serviceWithToken('right');
    const acting = act('POST', '/act');
    expect(await answerDialog('first')).toBe('missing');
    expect(await answerDialog('second')).toBe('wrong');
    expect(await answerDialog('right')).toBe('wrong');
    expect(await acting).toEqual({ done: true });
    expect(sentTokens()).toEqual(['first', 'second', 'right']);
    await act('POST', '/act');
    expect(sentTokens().at(-1)).toBe('right');
  });

  it('does nothing when the dialog is closed', async () => {
    serviceWithToken('right');
    const acting = expect(act('DELETE', '/keys/1')).rejects.toBeInstanceOf(NotUnlockedError);
    await answerDialog(undefined);
    await acting;
    expect(fetched).not.toHaveBeenCalled();
  });

  it('says so when the service has no action token at all', async () => {
    actionToken.set('any');
    fetched.mockImplementation(async () => refusal(403, 'actions_off'));
    const acting = expect(act('POST', '/act')).rejects.toBeInstanceOf(NotUnlockedError);
    expect(await answerDialog(undefined)).toBe('off');
    await acting;
  });

  it.each([
    [401, 'invalid_admin_token'],
    [403, 'http_403'],
    [409, 'already_terminal'],
  ])('passes other refusals on: %i %s', async (status, code) => {
    actionToken.set('right');
    fetched.mockImplementation(async () => refusal(status, code));
    await expect(act('POST', '/act')).rejects.toMatchObject({ status, code });
    expect(actionToken.question).toBeUndefined();
  });

  it('closes the dialog of an act when another one asks', async () => {
    serviceWithToken('right');
    const first = expect(act('POST', '/first')).rejects.toBeInstanceOf(NotUnlockedError);
    const second = act('POST', '/second');
    await first;
    await answerDialog('right');
    expect(await second).toEqual({ done: true });
  });
});
