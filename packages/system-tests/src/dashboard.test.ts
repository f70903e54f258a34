import { forAllTests } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from './chromium.ts';
import { takePicture } from './console-page.ts';
import { testService } from './service.ts';

describe.skipIf(chromiumPath === undefined)('the dashboard in a browser (needs Chromium)', () => {
  const prompt = 'A prompt that nobody but its tenant may read: zanzibar-7431.';
  let responseId: string;
  let answer: string;
  let failedId: string;

  const service = testService(() => ({
    settings: {
      providers: [{ id: 'local', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 }],
      models: [
        { id: 'simulator', routes: [{ provider: 'local' }] },
        { id: 'meta-llama/Llama-3.1-8B', routes: [{ provider: 'local' }] },
      ],
    },
  }));
  beforeAll(async () => {
    const { body } = await service.caller.create({ input: prompt });
    responseId = body.id;
    answer = body.output_text;
    const failed = await service.caller.stream({ input: `${prompt} [[sluice: fail=invalid_prompt]]` });
    failedId = failed.final.id;
  });
  const browser = forAllTests(launchChromium);

  /** Opens a page, and collects errors of the browser and its requests to other hosts. */
  async function open(path: string) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      // bull-board's page links a font on another host. Our policy keeps the browser from loading it.
      if (
        message.type() === 'error' &&
        !message.text().startsWith("Loading the stylesheet 'https://fonts.")
      ) {
        complaints.push(message.text());
      }
    });
    page.on('response', (response) => {
      if (new URL(response.url()).hostname !== '127.0.0.1') complaints.push(`asked ${response.url()}`);
      if (response.status() >= 400) complaints.push(`${response.status()} for ${response.url()}`);
    });
    await page.goto(`${service.adminUrls[0]}${path}`);
    return { page, complaints };
  }

  it('shows the queues of every model', async () => {
    const { page, complaints } = await open('/queues');
    await page.getByText('meta-llama/Llama-3.1-8B').first().waitFor();
    await page.getByText('simulator', { exact: true }).first().waitFor();
    await page.getByText('Loading...').waitFor({ state: 'hidden' });
    await takePicture(page, 'dashboard-queues');
    expect(page.url()).toContain('/queues');
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('shows a job by the id of its response, without prompt or answer', async () => {
    const { page, complaints } = await open('/queues/queue/simulator?status=completed');
    await page.getByText(responseId).first().waitFor();
    await takePicture(page, 'dashboard-completed');
    for (const text of [await page.content(), await page.innerText('body')]) {
      expect(text).not.toContain('zanzibar-7431');
      expect(text).not.toContain(answer);
    }
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('shows the code of a failed response, without its prompt', async () => {
    const { page, complaints } = await open('/queues/queue/simulator?status=failed');
    await page.getByText(failedId).first().waitFor();
    await page.getByText('invalid_prompt').first().waitFor();
    await takePicture(page, 'dashboard-failed');
    expect(await page.content()).not.toContain('zanzibar-7431');
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('can be read but not written to', async () => {
    const { page } = await open('/queues/queue/simulator?status=completed');
    await page.getByText(responseId).first().waitFor();
    await expect(page.getByRole('button', { name: /retry|clean|empty|pause/i }).count()).resolves.toBe(0);
    const written = await fetch(`${service.adminUrls[0]}/queues/api/queues/simulator/pause`, {
      method: 'PUT',
    });
    expect(written.status).toBe(405);
    await page.close();
  });

  it('refuses a page elsewhere that reaches it through the browser', async () => {
    const { status } = await fetch(`${service.adminUrls[0]}/queues/`, {
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(status).toBe(403);
  });
});
