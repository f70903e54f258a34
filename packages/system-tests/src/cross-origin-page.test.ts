import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { forAllTests } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from './chromium.ts';
import { testService } from './service.ts';

/** What a page got of one request: nothing but the words of its error if the browser kept the answer from it. */
type Got = { status: number; headers: Record<string, string>; text: string } | { error: string };

describe.skipIf(chromiumPath === undefined)('a page at another port (needs Chromium)', () => {
  let page: Page;

  const server = forAllTests(async () => {
    const pages = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('Hi.'),
    );
    await once(pages.listen(0, '127.0.0.1'), 'listening');
    return pages;
  });
  /** The server is one of TCP, so it has a port. */
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service = testService(() => ({ settings: { server: { corsOrigins: [origin()] } } }));
  const browser = forAllTests(launchChromium);
  beforeAll(async () => {
    page = await browser.newPage();
    await page.goto(origin());
  });

  const ask = (path: string, { method = 'POST', key = service.key, body = {}, from = page } = {}) =>
    from.evaluate<Got, { url: string; method: string; key: string; body: string }>(
      async ({ url, method: verb, key: bearer, body: content }) => {
        try {
          const answer = await fetch(url, {
            method: verb,
            headers: {
              authorization: `Bearer ${bearer}`,
              'content-type': 'application/json',
              'idempotency-key': crypto.randomUUID(),
              'last-event-id': '1',
              'openai-organization': 'org',
              'x-stainless-retry-count': '0',
            },
            ...(verb === 'POST' && { body: content }),
          });
          const headers = Object.fromEntries(answer.headers);
          return { status: answer.status, headers, text: await answer.text() };
        } catch (error) {
          return { error: String(error) };
        }
      },
      {
        url: `${service.apiUrls[0]}${path}`,
        method,
        key,
        body: JSON.stringify({ model: 'simulator', input: 'Hello.', ...body }),
      },
    );

  it.each(['/v1', '/api/v1'])(
    'creates, streams, reads and deletes at %s, and reads each header',
    async (mount) => {
      const requestId = expect.stringMatching(/^req_/);
      const created = await ask(`${mount}/responses`);
      expect(created).toMatchObject({ status: 200, headers: { 'x-request-id': requestId } });
      const { id } = JSON.parse('text' in created ? created.text : '{}') as { id: string };
      expect(await ask(`${mount}/responses`, { body: { stream: true } })).toMatchObject({
        status: 200,
        headers: { 'x-request-id': requestId },
        text: expect.stringContaining('data: [DONE]'),
      });
      const events = `${mount}/responses/${id}/events?offset=-1&live=sse`;
      expect(await ask(events, { method: 'GET' })).toMatchObject({
        status: 200,
        text: expect.stringContaining('streamClosed'),
      });
      expect(await ask(`${mount}/responses/${id}`, { method: 'DELETE' })).toMatchObject({ status: 200 });
    },
  );

  it('reads refusals', async () => {
    expect(await ask('/v1/responses', { key: 'sk-wrong' })).toMatchObject({
      status: 401,
      text: expect.stringContaining('invalid_api_key'),
    });
    expect(await ask('/v1/responses', { body: { model: 'nobody' } })).toMatchObject({ status: 400 });
    expect(await ask('/v1/nothing', { method: 'GET' })).toMatchObject({ status: 404 });
  });

  it('is told nothing if it has another origin', async () => {
    const other = await browser.newPage();
    await other.goto(origin().replace('127.0.0.1', 'localhost'));
    expect(await ask('/v1/responses', { from: other })).toEqual({ error: 'TypeError: Failed to fetch' });
    await other.close();
  });
});
