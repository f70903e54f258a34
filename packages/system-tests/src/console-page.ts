import { join } from 'node:path';
import { eventually } from '@sluice/testing';
import type { Browser, Page } from 'playwright-core';

export const wide = { width: 1280, height: 800 };
export const phone = { width: 390, height: 844 };

/** How a page of the console is looked at. */
export interface Look {
  viewport?: typeof wide;
  colorScheme?: 'light' | 'dark';
}

/** A page of the console, with the errors of the browser and its requests to other hosts since it was opened. */
export interface OpenPage {
  page: Page;
  complaints: string[];
}

/**
 * Opens a tab, and returns a function that opens a page of the console in it. A tab keeps its process and the code of the
 * console, so a page costs a third of what it costs in a context of its own. It keeps nothing else: each page begins without
 * routes and with empty storage, as in a new tab.
 */
export async function consoleTab(browser: Browser): Promise<(url: string, look?: Look) => Promise<OpenPage>> {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  const page = await context.newPage();
  let complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') complaints.push(`asked ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} for ${response.url()}`);
  });
  return async (url, { viewport = wide, colorScheme = 'light' } = {}) => {
    await page.unrouteAll();
    if (page.url() !== blank) {
      await page.evaluate('sessionStorage.clear(); localStorage.clear()');
      await page.goto(blank);
    }
    complaints = [];
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await page.goto(url);
    await page.locator('h1').waitFor();
    return { page, complaints };
  };
}

const blank = 'about:blank';

/** Opens a page of the console in a browser context of its own. */
export async function openConsole(browser: Browser, url: string, look?: Look): Promise<OpenPage> {
  const open = await consoleTab(browser);
  return open(url, look);
}

const frames = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';
const isAtRest = `document.getAnimations().every(
  ({ playState, effect }) => playState !== 'running' || effect.getComputedTiming().endTime === Infinity
)`;

/** Changes how an open page is looked at, and resolves when it has followed. */
export async function lookAgain(
  page: Page,
  { viewport = wide, colorScheme = 'light' }: Look = {},
): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(viewport);
  await page.evaluate(frames);
  const hasTheme = `document.documentElement.dataset.mantineColorScheme === '${colorScheme}'`;
  await eventually(() => page.evaluate<boolean>(`${hasTheme} && ${isAtRest}`));
}

/** Saves a picture of a page for people, where `SCREENSHOT_DIR` names a folder for it. */
export async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOT_DIR'];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `sluice-${name}.png`) });
}

/** Pixels that the page is wide, with what would have to be scrolled to sideways. */
export function pageWidth(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth');
}
