import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'chrome'];

/** The Chromium of this machine; undefined when there is none. */
export const chromiumPath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .concat('/usr/bin')
  .flatMap((folder) => names.map((name) => join(folder, name)))
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
