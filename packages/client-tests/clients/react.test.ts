import { chromiumPath, launchChromium } from '@sluice/system-tests/chromium';
import { forAllTests, eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { mounts, onlyPrompt, startClientSite } from '../src/client-site.ts';
import { startChatSite } from './chat-site.ts';

if (chromiumPath === undefined) console.warn('The tests of a React page need Chromium and are skipped.');

describe.skipIf(chromiumPath === undefined).each(mounts)(
  'AI SDK with @ai-sdk/react and @sluice/client at $mount',
  ({ mount }) => {
    const chat = forAllTests(() => startChatSite('chat-page'));
    const site = forAllTests(() => startClientSite({ corsOrigins: [chat.origin] }));
    const browser = forAllTests(launchChromium);

    const open = async ({ model = 'scripted', key = site.key, at = mount } = {}) => {
      const page = await (await browser.newContext()).newPage();
      const asked = new URLSearchParams({ baseUrl: site.baseUrl(at), key, model });
      await page.goto(`${chat.origin}/?${asked}`);
      return {
        page,
        answer: page.locator('[data-role=assistant]'),
        status: page.locator('#status'),
        error: page.locator('#error'),
        say: async (text: string) => {
          await page.getByLabel('Message').fill(text);
          await page.getByRole('button', { name: 'Send' }).click();
        },
        close: () => page.context().close(),
      };
    };

    it('`useChat` in a React page of another origin', async () => {
      const { answer, status, say, close } = await open();
      await say('Tell me of Bergen.');
      await answer.getByText('Bergen lies between seven mountains.').waitFor();
      await status.getByText('ready').waitFor();
      await close();
    });

    it('`useChat` after its page was loaded again in the middle of an answer', async () => {
      const prompt = onlyPrompt('Stall');
      const { page, answer, status, say, close } = await open();
      await say(prompt);
      await eventually(async () => (await answer.count()) === 1);
      const words = (await answer.textContent()) ?? '';
      await page.reload();
      await status.getByText('streaming').waitFor();
      await eventually(async () => (await answer.textContent())?.startsWith(words));
      expect(site.model.requestsFor(prompt)).toHaveLength(1);
      await page.getByRole('button', { name: 'Stop' }).click();
      await status.getByText('ready').waitFor();
      await close();
    });

    it('a refused key and an unknown model, as the page shows them', async () => {
      const refused = await open({ key: 'sk-unknown-0123456789' });
      await refused.say('Hello.');
      await refused.error.getByText('Incorrect or missing API key').waitFor();
      await refused.close();
      const unknown = await open({ model: 'nobody' });
      await unknown.say('Hello.');
      await unknown.error.getByText("'nobody' does not exist").waitFor();
      await unknown.close();
    });

    it('`fetch` reads every header', async () => {
      const { page, close } = await open();
      const ask = { url: `${site.baseUrl(mount)}/responses`, key: site.key };
      const headers = await page.evaluate(async ({ url, key }) => {
        const answer = await fetch(url, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'idempotency-key': 'page-1',
            'last-event-id': '1',
            'openai-organization': 'org',
            'x-stainless-retry-count': '0',
          },
          body: JSON.stringify({ model: 'simulator', input: 'Hello.' }),
        });
        await answer.text();
        return Object.fromEntries(answer.headers);
      }, ask);
      expect(headers).toMatchObject({
        'x-request-id': expect.stringMatching(/^req_/),
        'openai-processing-ms': expect.stringMatching(/^\d+$/),
      });
      await close();
    });

    it('a page of an origin that is not allowed is told nothing', async () => {
      const { page, close } = await open();
      // The same page by another name is another origin.
      await page.goto(page.url().replace('127.0.0.1', 'localhost'));
      await page.getByLabel('Message').fill('Hello.');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.locator('#error').filter({ hasText: /./ }).waitFor();
      expect(await page.locator('[data-role=assistant]').count()).toBe(0);
      await close();
    });
  },
);
