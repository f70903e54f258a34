import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** The first is one without windows, in which a page costs less. */
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'chrome'];

const folders = (process.env['PATH'] ?? '').split(delimiter).concat('/usr/bin');

/** The Chromium of this machine; undefined when there is none. */
export const chromiumPath = names
  .flatMap((name) => folders.map((folder) => join(folder, name)))
  .find((path) => existsSync(path));

/** Starts a headless Chromium that calls nobody by itself. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    ...(chromiumPath !== undefined && { executablePath: chromiumPath }),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
