import { eventually } from '@sluice/testing';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessibilityViolations } from './accessibility.ts';
import { builtConsole } from './built-console.ts';
import { callerOf } from './caller.ts';
import { chromiumPath, launchChromium } from './chromium.ts';
import { openConsole, takePicture } from './console-page.ts';
import { type Service, startService } from './service.ts';

const actionToken = 'action-token-of-the-test';

describe.skipIf(chromiumPath === undefined)('the models of the console in a browser (need Chromium)', () => {
  let service: Service;
  let browser: Browser;

  beforeAll(async () => {
    await builtConsole();
    service = await startService({
      env: { ADMIN_ACTION_TOKEN: actionToken },
      settings: {
        providers: [{ id: 'fast', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 }],
        models: [{ id: 'simulator', routes: [{ provider: 'fast' }] }],
      },
    });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  it('are added, changed and removed, and a refusal stands at its field', async () => {
    const { page, complaints } = await openConsole(browser, `${service.adminUrls[0]}/console/models`);
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const caller = callerOf(service.apiUrls[0] ?? '', service.key);
    const statusOf = async () => (await caller.create({ model: 'night', input: 'Hi.' })).status;
    await button('Add a model').click();
    await page.getByRole('textbox', { name: 'Action token' }).fill(actionToken);
    await page.keyboard.press('Enter');
    const adding = page.getByRole('dialog', { name: 'Add a model' });
    await adding.getByLabel('Name').fill('night');
    await adding.getByLabel('Routes').fill('fats');
    await button('Add the model').click();
    await adding.getByText(/"fats" is not the id of a provider; did you mean "fast"\?/).waitFor();
    await takePicture(page, 'console-model-refused');
    expect(await accessibilityViolations(page)).toEqual([]);
    await adding.getByLabel('Routes').fill('fast: another-name');
    await adding.getByLabel('At most at a time').fill('4');
    await button('Add the model').click();
    await page.getByText('The model night is added.').waitFor();
    await eventually(async () => (await statusOf()) === 200);
    await button('Change night').click();
    const changing = page.getByRole('dialog', { name: 'Change night' });
    expect(await changing.getByLabel('Routes').inputValue()).toBe('fast: another-name');
    expect(await button('Change the model').isDisabled()).toBe(true);
    await changing.getByLabel('At most at a time').fill('');
    await button('Change the model').click();
    await page.getByText('The model night is changed.').waitFor();
    await takePicture(page, 'console-models');
    await button('Remove night').click();
    const removing = page.getByRole('dialog', { name: 'Remove night?' });
    await removing.getByLabel('is cancelled, and its callers are told').check();
    expect(await accessibilityViolations(page)).toEqual([]);
    await takePicture(page, 'console-model-removed');
    await button('Remove the model').click();
    await page.getByText('The model night is removed.').waitFor();
    await eventually(async () => (await statusOf()) === 400);
    // The route that was refused.
    expect(complaints).toEqual([
      expect.stringMatching(/^400 for .*\/models$/),
      expect.stringContaining('status of 400'),
    ]);
  });
});
