import { forAllTests, eventually } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { accessibilityViolations } from './accessibility.ts';
import { builtConsole } from './built-console.ts';
import { chromiumPath, launchChromium } from './chromium.ts';
import { openConsole, pageWidth, phone, takePicture, wide } from './console-page.ts';
import { testService } from './service.ts';

const actionToken = 'action-token-of-the-test';

describe.skipIf(chromiumPath === undefined)('the models of the console in a browser (need Chromium)', () => {
  beforeAll(builtConsole);
  const service = testService(() => ({
    env: { ADMIN_ACTION_TOKEN: actionToken },
    settings: {
      providers: [{ id: 'fast', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 }],
      models: [{ id: 'simulator', routes: [{ provider: 'fast' }] }],
    },
  }));
  const browser = forAllTests(launchChromium);

  it('are added, changed and removed, and a refusal stands at its field', async () => {
    const { page, complaints } = await openConsole(browser, `${service.adminUrls[0]}/console/models`);
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const { caller } = service;
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

  it('get a provider here, which is changed, and removed once no model has a route to it', async () => {
    const { page, complaints } = await openConsole(browser, `${service.adminUrls[0]}/console/models`);
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    await button('Add a provider').click();
    await page.getByRole('textbox', { name: 'Action token' }).fill(actionToken);
    await page.keyboard.press('Enter');
    const adding = page.getByRole('dialog', { name: 'Add a provider' });
    await adding.getByLabel('Name').fill('house');
    await adding.getByLabel('Servers').fill('http://127.0.0.1:9/v1');
    await adding.getByLabel('Variable with the key').fill('ADMIN_TOKEN');
    await button('Add the provider').click();
    await adding.getByText(/must be UPSTREAM_ and/).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await takePicture(page, 'console-provider-refused');
    await adding.getByLabel('Variable with the key').fill('UPSTREAM_HOUSE');
    await button('Add the provider').click();
    await page.getByText('The provider house is added.').waitFor();
    const row = page.getByRole('table', { name: 'Providers' }).getByRole('row', { name: /house/ });
    await row.getByText('UPSTREAM_HOUSE').waitFor();
    await button('Change house').click();
    const changing = page.getByRole('dialog', { name: 'Change house' });
    expect(await changing.getByLabel('Servers').inputValue()).toBe('http://127.0.0.1:9/v1');
    expect(await button('Change the provider').isDisabled()).toBe(true);
    await changing.getByLabel('Servers').fill('http://127.0.0.1:9/v1\nhttp://127.0.0.1:10/v1');
    await button('Change the provider').click();
    await page.getByText('The provider house is changed.').waitFor();
    await row.getByText('http://127.0.0.1:9/v1, http://127.0.0.1:10/v1').waitFor();
    const url = `${service.adminUrls[0]}/console/models`;
    for (const look of [{ colorScheme: 'dark' }, { viewport: phone }] as const) {
      const { page: other } = await openConsole(browser, url, look);
      await other.getByRole('button', { name: 'Change house', exact: true }).waitFor();
      expect(await accessibilityViolations(other)).toEqual([]);
      expect(await pageWidth(other)).toBeLessThanOrEqual((other.viewportSize() ?? wide).width);
      await takePicture(other, `console-providers-${'viewport' in look ? 'phone' : 'dark'}`);
      await other.context().close();
    }
    expect(await accessibilityViolations(page)).toEqual([]);
    await takePicture(page, 'console-providers');
    await button('Remove house').click();
    await page.getByRole('dialog', { name: 'Remove house?' }).waitFor();
    await button('Remove the provider').click();
    await page.getByText('The provider house is removed.').waitFor();
    await eventually(async () => (await row.count()) === 0);
    // The variable that was refused.
    expect(complaints).toEqual([
      expect.stringMatching(/^400 for .*\/providers$/),
      expect.stringContaining('status of 400'),
    ]);
  });
});
