import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleCommand, eventually, startLocalRedis } from '@sluice/testing';
import type { Browser } from 'playwright-core';
import type { Caller } from './caller.ts';
import { chromiumPath, launchChromium } from './chromium.ts';
import { photographConsole } from './console-pictures.ts';
import { type Service, startService } from './service.ts';

/**
 * Takes the pictures of the documents: `npm run pictures`. Builds the apps, runs them over a Redis of its own with some
 * load, and photographs the dashboard and the console once they show that load. Takes five minutes.
 */

const root = fileURLToPath(new URL('../../../', import.meta.url));
const pictures = `${root}docs/pictures`;

/** How many jobs of each state the dashboard is to show. */
interface Load {
  completed: number;
  failed: number;
  active: number;
  waiting: number;
}

const loads = {
  'qwen3-8b': { completed: 48, failed: 3, active: 8, waiting: 21 },
  'gpt-oss-20b': { completed: 26, failed: 1, active: 4, waiting: 7 },
} satisfies Record<string, Load>;

/** The model whose queue is photographed. */
const model = 'qwen3-8b';

async function main(): Promise<void> {
  if (chromiumPath === undefined) {
    console.log('No picture was taken: there is no Chromium on the PATH.');
    return;
  }
  await bundleCommand();
  await mkdir(pictures, { recursive: true });
  const redis = await startLocalRedis();
  try {
    const browser = await launchChromium();
    try {
      await photographDashboard(browser, redis.url);
      await photographConsole({ browser, redisUrl: redis.url, pictures });
    } finally {
      await browser.close();
    }
  } finally {
    await redis.stop();
  }
}

async function startLoaded(redisUrl: string): Promise<Service> {
  const service = await startService({
    redisUrl,
    settings: {
      providers: [{ id: 'local', type: 'simulator', firstTokenMs: 120, tokensPerSecond: 0 }],
      models: Object.entries(loads).map(([id, { active }]) => ({
        id,
        routes: [{ provider: 'local' }],
        concurrency: active,
      })),
      // Some of the load never ends.
      drainTimeoutMs: 2_000,
    },
  });
  try {
    const { caller } = service;
    await Promise.all(Object.entries(loads).map(([id, load]) => addLoad(caller, id, load)));
    return service;
  } catch (error) {
    await service.stop();
    throw error;
  }
}

async function addLoad(
  { create }: Caller,
  id: string,
  { completed, failed, active, waiting }: Load,
): Promise<void> {
  const times = (count: number, body: object) =>
    Promise.all(Array.from({ length: count }, () => create({ model: id, input: 'Hello!', ...body })));
  // One after the other: of jobs that complete faster than anybody looks, the queue keeps a sample only.
  for (let at = 0; at < completed; at += 1) await times(1, {});
  await times(failed, { input: '[[sluice: fail=invalid_prompt]]' });
  // As many as run at a time hold their places, so the others stay in the queue.
  await times(active, { input: '[[sluice: hang]]', background: true });
  await times(waiting, { background: true });
}

/** The page of one queue: every count, and the latest jobs with nothing in them but the ids of responses. */
async function photographDashboard(browser: Browser, redisUrl: string): Promise<void> {
  await using service = await startLoaded(redisUrl);
  const { active, waiting, completed, failed } = loads[model];
  const counts = [`active ${active}`, `prioritized ${waiting}`, `completed ${completed}`, `failed ${failed}`];
  const facts = [...Object.keys(loads), ...counts, 'create-response_'];
  const page = await browser.newPage({ viewport: { width: 1280, height: 660 } });
  await page.goto(`${service.adminUrls[0]}/queues/queue/${model}?status=latest`);
  // The tabs of all states are wider than the picture otherwise.
  await page.addStyleTag({ content: 'html { zoom: 0.85 }' });
  await eventually(async () => {
    const text = (await page.innerText('body')).toLowerCase().replaceAll(/\s+/g, ' ');
    const missing = facts.filter((fact) => !text.includes(fact));
    if (missing.length > 0) throw new Error(`the dashboard does not show ${missing.join(', ')} yet`);
    return true;
  });
  await page.getByText('Loading...').waitFor({ state: 'hidden' });
  await page.screenshot({ path: `${pictures}/dashboard.png` });
  await page.close();
}

await main();
