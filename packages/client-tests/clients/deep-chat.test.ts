import { chromiumPath, launchChromium } from '@sluice/system-tests/chromium';
import { forAllTests } from '@sluice/testing';
import { describe, it } from 'vitest';
import { mounts, startClientSite } from '../src/client-site.ts';
import { startChatSite } from './chat-site.ts';

if (chromiumPath === undefined) console.warn('The tests of Deep Chat need Chromium and are skipped.');

const answer = 'Bergen lies between seven mountains.';

describe.skipIf(chromiumPath === undefined).each(mounts)('Deep Chat at $mount', ({ mount }) => {
  const chat = forAllTests(() => startChatSite('deep-chat-page'));
  const site = forAllTests(() => startClientSite({ corsOrigins: [chat.origin] }));
  const browser = forAllTests(launchChromium);

  const open = async (path: string, { isStream = false, key = site.key, model = 'scripted' } = {}) => {
    const page = await (await browser.newContext()).newPage();
    const asked = { baseUrl: site.baseUrl(mount), key, model, path, stream: String(isStream) };
    await page.goto(`${chat.origin}/?${new URLSearchParams(asked)}`);
    return {
      // Selectors look into the shadow of the component.
      said: (text: string) => page.locator('.message-bubble', { hasText: text }).last(),
      say: async (text: string) => {
        await page.locator('#text-input').fill(text);
        await page.locator('#text-input').press('Enter');
      },
      close: () => page.context().close(),
    };
  };

  const protocols = [
    ['chat completions', 'chat/completions'],
    ['messages', 'messages'],
  ] as const;

  it.each(protocols.flatMap((each) => [[...each, false] as const, [...each, true] as const]))(
    'a conversation with %s, at `%s`, streamed: %s',
    async (_name, path, isStream) => {
      const { said, say, close } = await open(path, { isStream });
      await say('My name is Ada.');
      await said(answer).waitFor();
      await say('Repeat what was said.');
      await said(`user: My name is Ada. | assistant: ${answer} | user: Repeat what was said.`).waitFor();
      await close();
    },
  );

  it.each(protocols)(
    'an unknown model and a refused key, as the page shows them, with %s',
    async (_name, path) => {
      const unknown = await open(path, { model: 'nobody' });
      await unknown.say('Hello.');
      await unknown.said("'nobody' does not exist").waitFor();
      await unknown.close();
      const refused = await open(path, { key: 'sk-unknown-0123456789' });
      await refused.say('Hello.');
      await refused.said('Incorrect or missing API key').waitFor();
      await refused.close();
    },
  );
});
