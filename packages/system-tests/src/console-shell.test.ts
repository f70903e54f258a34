import type { Page } from 'playwright-core';
import { forAllTests } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { accessibilityViolations } from './accessibility.ts';
import { builtConsole } from './built-console.ts';
import { chromiumPath, launchChromium } from './chromium.ts';
import {
  consoleTab,
  type Look,
  lookAgain,
  openConsole,
  pageWidth,
  phone,
  takePicture,
  wide,
} from './console-page.ts';
import { startService, testService } from './service.ts';

const actionToken = 'action-token-of-the-test';

describe.skipIf(chromiumPath === undefined)('the shell of the console in a browser (needs Chromium)', () => {
  let tab: Awaited<ReturnType<typeof consoleTab>>;

  beforeAll(builtConsole);
  const service = testService(() => ({ workers: 0, env: { ADMIN_ACTION_TOKEN: actionToken } }));
  const browser = forAllTests(launchChromium);
  beforeAll(async () => {
    tab = await consoleTab(browser);
  });

  const open = (path: string, look: Look = {}) => tab(`${service.adminUrls[0]}${path}`, look);

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const tokenField = (page: Page) => page.getByRole('textbox', { name: 'Action token' });

  const openDialog = async (page: Page) => {
    await button(page, 'Locked').click();
    await page.getByRole('dialog').waitFor();
  };
  const states: [string, string, (page: Page) => Promise<void>, typeof wide?][] = [
    ['a page', '/console', async () => undefined],
    ['a page that is not there', '/console/nope', async () => undefined],
    ['the dialog of the token', '/console', openDialog],
    [
      'a refused token',
      '/console',
      async (page) => {
        await openDialog(page);
        await tokenField(page).fill('wrong');
        await button(page, 'Unlock').click();
        await page.getByText('This is not the action token of the service.').waitFor();
      },
    ],
    [
      'the choice of themes',
      '/console',
      async (page) => {
        await button(page, 'Theme').click();
        await page.getByRole('menuitemradio', { name: 'Dark' }).waitFor();
      },
    ],
    ['a page on a phone', '/console', async () => undefined, phone],
    ['the dialog on a phone', '/console', openDialog, phone],
    [
      'the navigation on a phone',
      '/console',
      async (page) => {
        await button(page, 'Open the navigation').click();
        await page.getByRole('dialog').getByRole('link', { name: 'Tenants' }).waitFor();
      },
      phone,
    ],
  ];
  it.each(states)(
    'shows %s without a barrier or an error, in both themes',
    async (what, path, prepare, viewport = wide) => {
      const { page, complaints } = await open(path, { colorScheme: 'dark', viewport });
      await prepare(page);
      for (const colorScheme of ['dark', 'light'] as const) {
        await lookAgain(page, { colorScheme, viewport });
        await takePicture(page, `console-${what.replaceAll(' ', '-')}-${colorScheme}`);
        expect([colorScheme, await accessibilityViolations(page)]).toEqual([colorScheme, []]);
        expect(await pageWidth(page)).toBeLessThanOrEqual(viewport.width);
      }
      expect(complaints).toEqual([]);
    },
  );

  it('is unlocked by the action token, for this tab alone', async () => {
    const { page, complaints } = await open('/console');
    await openDialog(page);
    await tokenField(page).fill(actionToken);
    await page.keyboard.press('Enter');
    await button(page, 'Unlocked').waitFor();
    await page.reload();
    await button(page, 'Unlocked').waitFor();
    const other = await page.context().newPage();
    await other.goto(page.url());
    await button(other, 'Locked').waitFor();
    await other.close();
    expect(complaints).toEqual([]);
  });

  it('keeps the theme that was chosen, from the first paint on', async () => {
    const { page, complaints } = await open('/console');
    const theme = () => page.evaluate<string>('document.documentElement.dataset.mantineColorScheme');
    expect(await theme()).toBe('light');
    await button(page, 'Theme').click();
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    await page.waitForFunction('document.documentElement.dataset.mantineColorScheme === "dark"');
    // Without the application, the page has the theme already.
    await page.route('**/assets/*.js', (route) => route.abort());
    await page.reload();
    expect(await theme()).toBe('dark');
    expect(complaints.filter((each) => !each.includes('ERR_FAILED'))).toEqual([]);
  });

  it('leads by keyboard alone: past the navigation, and to a page by its letter', async () => {
    const { page, complaints } = await open('/console');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('main');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).getByText('Tenants').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('heading', { name: 'Tenants' }).waitFor();
    expect(page.url()).toMatch(/\/console\/tenants$/);
    expect(complaints).toEqual([]);
  });

  it('closes the navigation of a phone when a page is chosen', async () => {
    const { page, complaints } = await open('/console', { viewport: phone });
    await button(page, 'Open the navigation').click();
    await page.getByRole('dialog').getByRole('link', { name: 'Tenants' }).click();
    await page.getByRole('heading', { name: 'Tenants' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.getByRole('dialog').isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('stays in the console while the service is away, and shows what was asked for once it is back', async () => {
    const { page } = await open('/console');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const everything = '**/*';
    await page.route(everything, (route) => route.abort('connectionrefused'));
    await page.getByRole('link', { name: 'Queues' }).first().click();
    const alert = page.getByRole('alert');
    await alert.getByText('The service does not answer').waitFor();
    await page.getByText('The service does not answer. This page may be out of date.').waitFor();
    expect(page.url()).toMatch(/\/console\/queues$/);
    await takePicture(page, 'console-away');
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.unroute(everything);
    await page.getByRole('heading', { name: 'Queues' }).waitFor();
    await page.getByText('The service does not answer').first().waitFor({ state: 'hidden' });
  });

  it('reads a page that was open again by itself, once the service is back', async () => {
    // Its clock is that of the context.
    const { page } = await openConsole(browser, `${service.adminUrls[0]}/console/keys`);
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.clock.install();
    const everything = '**/*';
    await page.route(everything, (route) => route.abort('connectionrefused'));
    const banner = page.getByText('The service does not answer. This page may be out of date.');
    await page.getByRole('link', { name: 'Overview' }).first().click();
    await page.goBack();
    await banner.waitFor();
    await page.unroute(everything);
    // More than the longest time after which it asks again.
    await page.clock.fastForward(10_000);
    await banner.waitFor({ state: 'hidden' });
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.context().close();
  });

  it('stays when a part of it cannot be loaded, says so, and loads it when it is asked for again', async () => {
    // The browser has no part of the console yet.
    const { page } = await openConsole(browser, `${service.adminUrls[0]}/console/queues`);
    const pause = button(page, 'Pause simulator');
    await pause.waitFor();
    const parts = '**/assets/*';
    await page.route(parts, (route) => route.fulfill({ status: 404 }));
    const notice = page.getByRole('alert');
    // Its dialog could not open, so the act that asked for the token is over.
    await pause.click();
    await notice.getByText('could not be loaded').waitFor();
    await takePicture(page, 'console-part-missing');
    expect(await accessibilityViolations(page)).toEqual([]);
    await notice.getByRole('button', { name: 'Close' }).click();
    await page.keyboard.press('?');
    await notice.getByText('could not be loaded').waitFor();
    await page.unroute(parts);
    await pause.click();
    await tokenField(page).fill(actionToken);
    await page.route(parts, (route) => route.fulfill({ status: 404 }));
    await page.keyboard.press('Enter');
    await button(page, 'Pause the queue').click();
    await notice.getByText('The queue simulator is paused.').waitFor();
    await page.unroute(parts);
    await button(page, 'Resume simulator').click();
    await page.getByText('The queue simulator is open again.').waitFor();
    await pause.waitFor();
    expect(await page.getByText('The queue simulator is paused.').count()).toBe(0);
    await page.context().close();
  });

  it('is beside a reference that follows the theme, and finds a path', async () => {
    const page = await browser.newPage({ colorScheme: 'dark' });
    await page.goto(`${service.apiUrls[0]}/docs`);
    const path = (name: string) => page.locator(`.opblock-summary-path[data-path="${name}"]`);
    await path('/models').waitFor();
    expect(await page.locator('.servers select').inputValue()).toBe('/v1');
    const html = (theme: string) => page.locator(`html${theme}`).waitFor({ state: 'attached' });
    await html('.dark-mode');
    await page.emulateMedia({ colorScheme: 'light' });
    await html(':not(.dark-mode)');
    await page.getByPlaceholder('Filter by tag or path').fill('input_items');
    await path('/models').waitFor({ state: 'hidden' });
    await path('/responses/{id}/input_items').waitFor();
    await page.close();
  });

  it('says where nothing can be changed, because the service has no action token', async () => {
    await using bare = await startService({ workers: 0, env: { ADMIN_ACTION_TOKEN: '' } });
    const { page, complaints } = await tab(`${bare.adminUrls[0]}/console/keys`);
    await button(page, 'Create a key').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('ADMIN_ACTION_TOKEN').first().waitFor();
    expect(await tokenField(page).isVisible()).toBe(false);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
