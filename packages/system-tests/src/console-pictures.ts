import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ResponseRows } from '@sluice/contract/admin';
import type { Browser } from 'playwright-core';
import { builtConsole } from './built-console.ts';
import { type Caller, callerOf, type RequestBody } from './caller.ts';
import { openConsole } from './console-page.ts';
import { startService } from './service.ts';

/** How long tenants send requests before the pictures are taken, in milliseconds: the charts have a point for each minute. */
const trafficMs = 270_000;

/** How long before its end they are taken, so that something runs. */
const shootingMs = 20_000;

interface Tenant {
  name: string;
  weight: number;
  /** Milliseconds between two requests. */
  everyMs: number;
  /** The requests that it sends in turns. */
  requests: readonly (RequestBody & { stream?: boolean })[];
}

const prompt = (tokens: number) => `Explain fair queueing. [[sluice: tokens=${tokens}]]`;

const tenants: readonly Tenant[] = [
  {
    ...{ name: 'search', weight: 3, everyMs: 220 },
    requests: [
      { model: 'qwen3-8b', input: prompt(40), stream: true },
      { model: 'qwen3-8b', input: prompt(20) },
      { model: 'qwen3-8b', input: prompt(30), stream: true, metadata: { feature: 'suggest' } },
    ],
  },
  {
    ...{ name: 'support', weight: 2, everyMs: 450 },
    requests: [
      { model: 'gpt-oss-20b', input: prompt(60), stream: true, service_tier: 'priority' },
      { model: 'gpt-oss-20b', input: prompt(30) },
      { model: 'gpt-oss-20b', input: 'Answer [[sluice: fail=upstream_error, fail_attempts=1, tokens=20]]' },
    ],
  },
  {
    ...{ name: 'nightly-batch', weight: 1, everyMs: 320 },
    requests: [
      { model: 'gpt-oss-20b', input: prompt(90), background: true, service_tier: 'flex' },
      { model: 'qwen3-8b', input: prompt(60), background: true, service_tier: 'flex' },
      { model: 'gpt-oss-20b', input: 'Sum up [[sluice: fail=invalid_prompt]]', background: true },
      { model: 'gpt-oss-20b', input: prompt(120), background: true, metadata: { run: 'invoices' } },
    ],
  },
];

interface Photographs {
  browser: Browser;
  redisUrl: string;
  /** The folder for the pictures. */
  pictures: string;
}

/** Runs a service of three tenants for some minutes, and photographs the pages of the console that show its load. */
export async function photographConsole({ browser, redisUrl, pictures }: Photographs): Promise<void> {
  await builtConsole();
  const keys = tenants.map(({ name, weight }) => ({
    ...{ name, weight, key: `sk-${randomBytes(16).toString('hex')}` },
    tiers: ['default', 'flex', 'priority'],
  }));
  await using service = await startService({
    redisUrl,
    workers: 2,
    settings: {
      keys,
      providers: [{ id: 'local', type: 'simulator', firstTokenMs: 180, tokensPerSecond: 45 }],
      models: [
        { id: 'qwen3-8b', routes: [{ provider: 'local' }], concurrency: 8 },
        { id: 'gpt-oss-20b', routes: [{ provider: 'local' }], concurrency: 6 },
      ],
      drainTimeoutMs: 2_000,
    },
  });
  const adminUrl = service.adminUrls[0] ?? '';
  const until = performance.now() + trafficMs;
  const sending = Promise.all(
    tenants.map((tenant, at) => send(callerOf(service.apiUrls[0] ?? '', keys[at]?.key ?? ''), tenant, until)),
  );
  await pause(trafficMs - shootingMs);
  const photograph = async (path: string, picture: string, shows: string) => {
    const { page, complaints } = await openConsole(browser, `${adminUrl}/console${path}`, {
      viewport: { width: 1280, height: 860 },
    });
    await page.getByText(shows).first().waitFor();
    await page.waitForLoadState('networkidle', { timeout: 2_000 }).catch(() => undefined); // Live pages never are.
    if (complaints.length > 0) throw new Error(`the console complains: ${complaints.join(', ')}`);
    await page.screenshot({ path: `${pictures}/${picture}.png` });
    await page.context().close();
  };
  await photograph('', 'console-overview', 'invalid_prompt');
  await photograph('/responses', 'console-responses', 'In progress');
  await photograph(
    `/responses/${await retriedResponse(adminUrl)}`,
    'console-response',
    'Where its time went',
  );
  await sending;
}

/** Sends the requests of a tenant in turns until a moment, whatever becomes of them. */
async function send(caller: Caller, { requests, everyMs }: Tenant, until: number): Promise<void> {
  const sent: Promise<unknown>[] = [];
  for (let at = 0; performance.now() < until; at += 1) {
    const { stream, ...body } = requests[at % requests.length] ?? { input: '' };
    const answered = stream === true ? caller.stream(body) : caller.create(body);
    sent.push(answered.catch(() => undefined)); // Some are meant to fail.
    await pause(everyMs * (0.5 + Math.random()));
  }
  await Promise.all(sent);
}

/** A response that took a second attempt. */
async function retriedResponse(adminUrl: string): Promise<string> {
  const answer = await fetch(`${adminUrl}/admin/v1/responses?tenant=support&status=completed&limit=200`);
  const { data } = (await answer.json()) as ResponseRows; // The API's own answer.
  const retried = data.find(({ attempts }) => attempts > 1);
  if (!retried) throw new Error('no response of the load was tried again');
  return retried.id;
}
