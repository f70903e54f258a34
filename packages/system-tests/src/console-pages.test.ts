import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { UsagePage } from '@sluice/contract';
import type { Facets, ResponseDetail, ResponseRows, Session } from '@sluice/contract/admin';
import { tenantLimits } from '@sluice/contract/tenant-limits';
import { forAllTests, eventually, latch } from '@sluice/testing';
import type { Page, Request } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { accessibilityViolations } from './accessibility.ts';
import { builtConsole } from './built-console.ts';
import { chromiumPath, launchChromium } from './chromium.ts';
import { consoleTab, lookAgain, openConsole, pageWidth, phone, takePicture, wide } from './console-page.ts';
import { testService } from './service.ts';

const actionToken = 'action-token-of-the-test';
const prompt = 'What only its tenant may read: zanzibar-7431.';
const completed = 20;
/** Every page that refreshes itself has done so after this long, in milliseconds. */
const pageRefreshMs = 10_000;

describe.skipIf(chromiumPath === undefined)('the pages of the console in a browser (need Chromium)', () => {
  let tab: Awaited<ReturnType<typeof consoleTab>>;
  let answeredId: string;

  beforeAll(builtConsole);
  const service = testService(() => ({
    env: { ADMIN_ACTION_TOKEN: actionToken },
    settings: {
      usage: { enabled: true },
      webhooks: { allowPrivateNetworks: true },
      providers: [
        { id: 'fast', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 },
        { id: 'slow', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 10 },
      ],
      models: [
        { id: 'simulator', routes: [{ provider: 'fast' }], price: { input: 2.5, output: 10 } },
        { id: 'slow', routes: [{ provider: 'slow' }], concurrency: 1 },
      ],
    },
  }));
  const browser = forAllTests(launchChromium);
  beforeAll(async () => {
    const { caller } = service;
    const { body } = await caller.create({ input: prompt, metadata: { order: 'seventeen' } });
    answeredId = body.id;
    await Promise.all(
      Array.from({ length: completed - 1 }, (_, at) => caller.create({ input: `Hello ${at}` })),
    );
    await caller.stream({ input: 'Hi [[sluice: fail=invalid_prompt]]' });
    await aDelivery();
    tab = await consoleTab(browser);
  });

  /** A delivery to an endpoint that takes nothing. */
  async function aDelivery(): Promise<void> {
    const [url] = service.apiUrls;
    const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
    const endpoint = { name: 'closed', url: `${url}/healthz`, event_types: ['response.cancelled'] };
    await fetch(`${url}/v1/webhook_endpoints`, { method: 'POST', headers, body: JSON.stringify(endpoint) });
    const { body } = await service.caller.create({ model: 'slow', background: true, input: 'Hi' });
    await fetch(`${url}/v1/responses/${body.id}/cancel`, { method: 'POST', headers });
  }

  /** The newest responses that a query asks for, as the service lists them. */
  async function readRows(query = ''): Promise<ResponseRows> {
    const answer = await fetch(`${service.adminUrls[0]}/admin/v1/responses${query}`);
    return (await answer.json()) as ResponseRows; // The API's own answer.
  }

  const urlOf = (path: string) => `${service.adminUrls[0]}/console${path}`;
  const open = (path: string) => tab(urlOf(path));
  const button = (page: Page, name: string | RegExp) =>
    page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) });
  const table = (page: Page) => page.getByRole('table', { name: 'Responses' });

  /** Enters the token into the dialog that an act has opened. */
  async function unlock(page: Page): Promise<void> {
    await page.getByRole('textbox', { name: 'Action token' }).fill(actionToken);
    await page.keyboard.press('Enter');
  }

  /** Starts a slow stream in the background, which goes on by itself, and returns the id of its response. */
  async function startedStream(input: string): Promise<string> {
    const began = Promise.withResolvers<string>();
    service.caller
      .stream(
        { model: 'slow', background: true, input },
        {
          onEvent: (event) => {
            if (event.response !== undefined) began.resolve(event.response.id);
          },
        },
      )
      .catch(began.reject);
    return began.promise;
  }

  const pages: [string, () => string, (page: Page) => Promise<unknown>][] = [
    ['overview', () => '', (page) => page.getByRole('heading', { name: 'Redis' }).waitFor()],
    ['responses', () => '/responses', (page) => page.getByText(`${completed + 2} responses`).waitFor()],
    [
      'one response',
      () => `/responses/${answeredId}`,
      (page) => page.getByText('Generating', { exact: true }).waitFor(),
    ],
    ['queues', () => '/queues', (page) => button(page, 'Pause slow').waitFor()],
    [
      'tenants',
      () => '/tenants',
      (page) => page.getByRole('table', { name: 'Tenants' }).getByRole('row').nth(1).waitFor(),
    ],
    ['models', () => '/models', (page) => button(page, 'Add a model').waitFor()],
    [
      'usage',
      () => '/usage',
      (page) => page.getByRole('table', { name: 'Usage' }).getByRole('row').nth(1).waitFor(),
    ],
    [
      'webhooks',
      () => '/webhooks',
      (page) => page.getByRole('table', { name: 'Deliveries' }).getByRole('row').nth(1).waitFor(),
    ],
    [
      'cells',
      () => '/cells',
      (page) => page.getByRole('table', { name: 'Cells' }).getByRole('row').nth(1).waitFor(),
    ],
    ['keys', () => '/keys', (page) => button(page, 'Create a key').waitFor()],
    ['playground', () => '/playground', (page) => button(page, 'Send').waitFor()],
    ['audit', () => '/audit', (page) => page.getByRole('heading', { name: 'Audit' }).waitFor()],
  ];
  const looks = [
    { name: 'light', colorScheme: 'light', viewport: wide },
    { name: 'dark', colorScheme: 'dark', viewport: wide },
    { name: 'phone', colorScheme: 'light', viewport: phone },
  ] as const;
  const widthsBetween = [1000, 720];

  it.each(pages)(
    'shows %s in both themes and every width without a barrier or an error, and no content of a response',
    async (what, path, ready) => {
      const { page, complaints } = await open(path());
      for (const { name, ...look } of looks) {
        await lookAgain(page, look);
        await ready(page);
        await takePicture(page, `console-${what.replace(' ', '-')}-${name}`);
        expect([name, await accessibilityViolations(page)]).toEqual([name, []]);
        expect(await pageWidth(page)).toBeLessThanOrEqual(look.viewport.width);
      }
      for (const width of widthsBetween) {
        await lookAgain(page, { viewport: { width, height: wide.height } });
        expect(await pageWidth(page)).toBeLessThanOrEqual(width);
      }
      expect(await page.content()).not.toContain('zanzibar');
      expect(complaints).toEqual([]);
    },
  );

  it('narrows the list by filters that complete themselves, by metadata and by an id', async () => {
    const { page, complaints } = await open('/responses');
    await button(page, 'Status').click();
    await page.getByRole('option', { name: 'Failed' }).click();
    await page.getByText('1 response', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await table(page).getByText('invalid_prompt').waitFor();
    expect(page.url()).toContain('status=failed');
    await button(page, 'Clear filters').click();
    const search = page.getByRole('searchbox', { name: /^Search responses by their id/ });
    await search.fill('words of a prompt');
    await page.getByText('Only ids and metadata are searched').waitFor();
    await search.fill('order:seventeen');
    await page.getByText('1 response', { exact: true }).waitFor();
    await search.fill(answeredId);
    await page.getByRole('heading', { name: 'Where its time went' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows what is created while somebody looks', async () => {
    const { page, complaints } = await open('/responses?tenant=nobody');
    await page.getByText('No response matches').waitFor();
    await button(page, 'Clear filters').first().click();
    await page.getByText(/^\d+ responses$/).waitFor();
    const { body } = await service.caller.create({ input: 'New' });
    await table(page).locator(`a[href$="${body.id}"]`).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows what came between the list and the connection that keeps it up to date', async () => {
    const { page, complaints } = await open('/keys');
    const connection = latch();
    await page.route('**/responses/events**', async (route) => {
      await connection.wait();
      await route.continue();
    });
    await page.goto(`${service.adminUrls[0]}/console/responses`);
    await page.getByText(/^\d+ responses$/).waitFor();
    const { body } = await service.caller.create({ input: 'In between' });
    const listed = async () => (await fetch(`${service.adminUrls[0]}/admin/v1/responses`)).text();
    await eventually(async () => expect(await listed()).toContain(body.id));
    expect(await table(page).locator(`a[href$="${body.id}"]`).count()).toBe(0);
    connection.open();
    await table(page).locator(`a[href$="${body.id}"]`).waitFor();
    expect(complaints).toEqual([]);
  });

  it('counts spans of time from the present, however long a page is open', async () => {
    const { page } = await openConsole(browser, urlOf('/keys'));
    await page.clock.install();
    const hourMs = 3_600_000;
    /** The moment from which the next reading asks that has one after `earliest`. */
    const askedFrom = async (member: string, unitMs: number, earliest = 0) => {
      const fromOf = (url: string) => Number(new URL(url).searchParams.get(member)) * unitMs;
      return fromOf(
        (await page.waitForRequest((asked) => fromOf(asked.url()) > earliest, { timeout: 0 })).url(),
      );
    };
    /** Lets hours pass until that is asked: what a page does each minute begins when it has drawn what it was answered. */
    const asHoursPass = async (asking: Promise<number>) => {
      let asked: number | undefined;
      asking.then(
        (from) => (asked = from),
        () => undefined,
      );
      return eventually(async () => {
        if (asked === undefined) await page.clock.fastForward(hourMs);
        return asked;
      });
    };
    await page.goto(urlOf('/responses'));
    await page.getByText(/^\d+ responses$/).waitFor();
    await page.clock.fastForward(6 * hourMs);
    const present = await page.evaluate<number>('Date.now()');
    const first = askedFrom('from', 1);
    await button(page, 'Time').click();
    await page.getByRole('option', { name: 'Last 5 minutes' }).click();
    expect(await first).toBeGreaterThan(present - hourMs);
    const later = askedFrom('from', 1, (await first) + 5 * hourMs);
    expect(await asHoursPass(later)).toBeGreaterThan(present);

    const usage = askedFrom('start_time', 1_000);
    await page.goto(urlOf('/usage'));
    const laterUsage = askedFrom('start_time', 1_000, (await usage) + 5 * hourMs);
    await asHoursPass(laterUsage);
    await page.context().close();
  });

  it('retries what did not end well, and names the span of time and the number of it', async () => {
    const { page, complaints } = await open('/responses?since=24h');
    const { total } = await readRows('?status=failed&status=cancelled');
    expect((await readRows('?status=completed')).total).toBeGreaterThan(0);
    await button(page, /^Act on all/).click();
    await page.getByRole('menuitem', { name: 'Retry those that failed or were cancelled' }).click();
    await unlock(page);
    await page
      .getByText('Of all that match the filters and were accepted in the last 24 hours, those that failed')
      .waitFor();
    expect(complaints).toEqual([]);
    const asked = page.waitForRequest((request) => request.url().endsWith('/admin/v1/acts'));
    const error = { type: 'invalid_request_error', code: 'act_under_way', message: 'Refused.', param: null };
    await page.route('**/admin/v1/acts', (route) => route.fulfill({ status: 409, json: { error } }));
    await button(page, `Retry ${total} responses`).click();
    expect((await asked).postDataJSON()).toMatchObject({
      action: 'retry',
      filter: { status: ['failed', 'cancelled'], from: expect.any(Number) },
      expected: total,
    });
    await button(page, 'Leave it').click();
  });

  it('asks for a word before it acts on everything, also where the address has filters that are none', async () => {
    const { page, complaints } = await open('/responses?since=nonsense&from=soon');
    await button(page, /^Act on all/).click();
    await page.getByRole('menuitem', { name: /Retry/ }).click();
    await unlock(page);
    await page.getByText('Of the responses of all tenants, those that failed').waitFor();
    await page.getByRole('textbox', { name: 'Type everything to go on' }).waitFor();
    await button(page, 'Leave it').click();
    expect(complaints).toEqual([]);
  });

  it('asks for that word also when the browser goes back to a list with filters while it asks', async () => {
    const { page, complaints } = await open('/responses?since=24h');
    await button(page, 'Clear filters').first().click();
    await page.waitForURL((url) => url.search === '');
    await button(page, /^Act on all/).click();
    await page.getByRole('menuitem', { name: /Retry/ }).click();
    await unlock(page);
    const word = page.getByRole('textbox', { name: 'Type everything to go on' });
    await word.waitFor();
    await page.goBack();
    // The page behind the dialog is hidden from its reader.
    await page
      .getByRole('button', { name: /^Time/, includeHidden: true })
      .getByText('Last 24 hours')
      .waitFor();
    await page.getByText('Of the responses of all tenants, those that failed').waitFor();
    await word.waitFor();
    await button(page, 'Leave it').click();
    expect(complaints).toEqual([]);
  });

  it('has one span of time at a time', async () => {
    const { page, complaints } = await open('/responses?since=24h&since=1h');
    const chosen = page.getByRole('option', { selected: true });
    await button(page, /^Time/).click();
    await eventually(async () => expect(await chosen.allTextContents()).toEqual(['Last 24 hours']));
    await page.getByRole('option', { name: 'Last 5 minutes' }).click();
    await eventually(async () => expect(await chosen.allTextContents()).toEqual(['Last 5 minutes']));
    expect(new URL(page.url()).search).toBe('?since=5m');
    expect(complaints).toEqual([]);
  });

  it('asks the service for the deliveries of a tenant that is not among those that are shown', async () => {
    const { page, complaints } = await open('/keys');
    const one = {
      id: 'evt_1-wh_1',
      tenant: 'small',
      endpoint: 'wh_1',
      event: 'batch.failed',
      subject: 'batch_1',
    };
    const times = { added_at: 1, next_at: null, ended_at: 2 };
    const small = { ...one, ...times, state: 'failed', tries: 1, note: null };
    await page.route('**/webhooks/deliveries?**', async (route) => {
      const wanted = new URL(route.request().url()).searchParams.getAll('tenant');
      if (!wanted.includes('small')) return route.continue();
      return route.fulfill({ json: { object: 'list', data: [small] } });
    });
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await button(page, 'Tenant').click();
    await page.getByRole('option', { name: 'tester' }).waitFor();
    await page.getByRole('textbox', { name: 'Find in Tenant' }).fill('small');
    await page.getByRole('option', { name: 'Use “small”' }).click();
    await page.getByText('batch.failed').waitFor();
    await page.getByText('1 delivery', { exact: true }).waitFor();
    // Another one can still be chosen.
    await page.getByRole('textbox', { name: 'Find in Tenant' }).fill('');
    await page.getByRole('option', { name: 'tester' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('names the days of usage as the service counts them, wherever its reader is', async () => {
    const context = await browser.newContext({ timezoneId: 'America/Los_Angeles', viewport: wide });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const read = page.waitForResponse((answer) => answer.url().includes('/usage/completions'));
    await page.goto(urlOf('/usage'));
    const { data } = (await (await read).json()) as UsagePage; // The API's own answer.
    const parts = { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' } as const;
    const day = new Intl.DateTimeFormat('en-GB', parts);
    const days = data.map(({ start_time: start }) => day.format(start * 1_000).replace(',', ''));
    const plot = page.locator('.u-over');
    const { width = 0 } = (await plot.boundingBox()) ?? {};
    for (const [x, named] of [
      [1, days[0]],
      [width - 1, days.at(-1)],
    ] as const) {
      await plot.hover({ position: { x, y: 20 } });
      await eventually(async () =>
        expect(await page.locator('.u-legend .u-value').first().textContent()).toBe(named),
      );
    }
  });

  it('says that what it shows is out of date while the service cannot read its store', async () => {
    const { page } = await open('/keys');
    const error = {
      ...{ type: 'server_error', code: 'server_is_overloaded', param: null },
      message: 'Redis does not answer.',
    };
    const events = '**/overview/events';
    const body = `event: unavailable\ndata: ${JSON.stringify({ error })}\n\n`;
    await page.route(events, (route) => route.fulfill({ contentType: 'text/event-stream', body }));
    await page.getByRole('link', { name: 'Overview' }).click();
    const problem = page.getByText('The state of the service cannot be read at the moment');
    await problem.waitFor();
    await page.getByText('Redis does not answer. This was read').waitFor();
    expect(await page.getByText('Nothing needs attention').count()).toBe(0);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.unroute(events);
    await problem.waitFor({ state: 'hidden' });

    await page.route('**/responses/facets**', async (route) => {
      const answer = await route.fetch();
      const facets = (await answer.json()) as Facets; // The API's own answer.
      const index = { ...facets.index, state: 'unavailable' };
      await route.fulfill({ response: answer, json: { ...facets, index } });
    });
    await page.getByRole('link', { name: 'Responses', exact: true }).click();
    await page.getByText('The journal cannot be read at the moment').waitFor();
  });

  it('asks once for older responses that cannot be read, and again when its reader wants it', async () => {
    const { page } = await open('/keys');
    let asked = 0;
    // Its connection would have the list read again.
    await page.route('**/responses/events**', (route) => route.abort());
    await page.route('**/admin/v1/responses?**', async (route) => {
      if (route.request().url().includes('after=')) {
        asked += 1;
        await route.fulfill({ status: 503, json: { error: { message: 'Redis does not answer.' } } });
        return;
      }
      const answer = await route.fetch();
      const rows = (await answer.json()) as ResponseRows; // The API's own answer.
      await route.fulfill({ response: answer, json: { ...rows, has_more: true, next: 'more' } });
    });
    await page.getByRole('link', { name: 'Responses', exact: true }).click();
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
    const again = button(page, 'Read the list again');
    await again.waitFor();
    // The table is drawn anew, and its end comes into view again.
    await page.evaluate('window.scrollTo(0, 0)');
    await lookAgain(page, { viewport: phone });
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
    await lookAgain(page);
    expect(asked).toBe(1);
    await again.click();
    await eventually(() => expect(asked).toBe(2));
  });

  it('reads the list again when more is new than it was told of', async () => {
    const { page, complaints } = await open('/keys');
    const [newest] = (await readRows()).data;
    if (newest === undefined) throw new Error('There is no response.');
    const told = Array.from({ length: 500 }, (_, at) => ({
      ...newest,
      id: `resp_${String(at).padStart(20, '0')}`,
      accepted_at: newest.accepted_at + 1 + at,
    }));
    const connections: ServerResponse[] = [];
    const stream = createServer((_, answer) => {
      answer.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      connections.push(answer);
    }).listen(0, '127.0.0.1');
    await once(stream, 'listening');
    onTestFinished(() => stream.close().closeAllConnections());
    const { port } = stream.address() as AddressInfo; // It listens on a port.
    await page.route('**/responses/events**', (route) =>
      route.continue({ url: `http://127.0.0.1:${port}/` }),
    );
    const lists = { asked: 0, ended: 0 };
    const isList = (asked: Request) => asked.url().includes('/admin/v1/responses?');
    page.on('request', (asked) => (lists.asked += Number(isList(asked))));
    const ended = (asked: Request) => (lists.ended += Number(isList(asked)));
    page.on('requestfinished', ended);
    page.on('requestfailed', ended);
    await page.getByRole('link', { name: 'Responses', exact: true }).click();
    // One is read with the page, and one after its connection is made, which ends the first if that still goes on.
    await eventually(() => expect(lists).toEqual({ asked: 2, ended: 2 }));
    connections[0]?.write(`event: rows\ndata: ${JSON.stringify({ rows: told, total: 501 })}\n\n`);
    const invented = table(page).locator('a[href*="resp_000"]').first();
    await invented.waitFor();
    // The service has none of them.
    await invented.waitFor({ state: 'hidden' });
    await table(page).locator(`a[href$="${newest.id}"]`).waitFor();
    expect(complaints).toEqual([]);
  });

  it('follows a response that runs, loses no event over a cut, and cancels it', async () => {
    const id = await startedStream('Go on [[sluice: tokens=1000 tokens_per_second=10]]');
    const { page, complaints } = await open(`/responses/${id}`);
    await button(page, 'Follow').click();
    const received = page.getByText(/events received up to number/);
    const countOf = async () => Number(/^(\d+) events/.exec((await received.textContent()) ?? '')?.[1]);
    await eventually(async () => expect(await countOf()).toBeGreaterThan(5));
    await button(page, 'Cut and resume').click();
    const before = await countOf();
    await eventually(async () => expect(await countOf()).toBeGreaterThan(before + 5), { timeoutMs: 20_000 });
    expect(await received.textContent()).toMatch(/over one cut: 0 missing, 0 repeated/);
    await button(page, 'Cancel').click();
    await unlock(page);
    await button(page, 'Cancel the response').click();
    await page.getByText('Everything was sent').waitFor();
    await page.getByText('Cancelled', { exact: true }).waitFor();
    expect(await received.textContent()).toMatch(/0 missing, 0 repeated/);
    expect(complaints).toEqual([]);
  });

  it('offers to retry a response that has ended, also when nobody knows the time of its end', async () => {
    const { page, complaints } = await open('/keys');
    await page.route(`**/admin/v1/responses/${answeredId}`, async (route) => {
      const answer = await route.fetch();
      const detail = (await answer.json()) as ResponseDetail; // The API's own answer.
      const row = { ...detail.row, status: 'failed', ended_at: null };
      await route.fulfill({ response: answer, json: { ...detail, row } });
    });
    await page.goto(urlOf(`/responses/${answeredId}`));
    await button(page, 'Retry').waitFor();
    expect(await button(page, 'Cancel').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('shows a prompt to who may act, and the audit log says so', async () => {
    const { page, complaints } = await open(`/responses/${answeredId}`);
    await button(page, 'Show').click();
    await unlock(page);
    await page.locator('pre', { hasText: prompt }).first().waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText(answeredId).first().waitFor();
    expect(complaints).toEqual([]);
  });

  it('pauses a queue, cancels all that wait in it, and lets it go on', async () => {
    const { page, complaints } = await open('/queues');
    await button(page, 'Pause slow').click();
    await unlock(page);
    await button(page, 'Pause the queue').click();
    await button(page, 'Resume slow').waitFor();
    const waiting = Array.from({ length: 12 }, () =>
      service.caller.create({ model: 'slow', input: 'Wait', background: true }),
    );
    await Promise.all(waiting);
    await page.goto(`${service.adminUrls[0]}/console/responses?status=queued&model=slow`);
    await page.getByText('12 responses', { exact: true }).waitFor();
    await button(page, /^Act on all 12/).click();
    await page.getByRole('menuitem', { name: /Cancel/ }).click();
    await button(page, 'Cancel 12 responses').click();
    await page.getByText('Cancelled responses').waitFor();
    await page.getByText('12 of 12').waitFor();
    await page.getByText('No response matches').waitFor();
    await page.goto(`${service.adminUrls[0]}/console/queues`);
    await button(page, 'Resume slow').click();
    await button(page, 'Pause slow').waitFor();
    expect(complaints).toEqual([]);
  });

  it('tries two requests side by side, and says which field was refused', async () => {
    const { page, complaints } = await open('/playground');
    await page.getByLabel('API key').fill(service.key);
    await page.getByRole('checkbox', { name: 'Two side by side' }).check();
    const [first, second] = ['First', 'Second'].map((name) =>
      page.getByRole('region', { name, exact: true }),
    );
    await second?.getByLabel('Model').fill('simulator');
    await second?.getByLabel('Temperature').fill('9');
    await button(page, 'Send').click();
    await first?.getByText('Done', { exact: true }).waitFor();
    await first?.getByLabel('Answer').getByText('what a sluice is').waitFor();
    await second?.getByText("Invalid 'temperature'").first().waitFor();
    expect(complaints.filter((each) => !each.includes('400'))).toEqual([]);
  });

  it('offers the development key of a service that takes one, to whoever may act', async () => {
    const { page, complaints } = await open('/playground');
    await page.route('**/admin/v1/session', async (route) => {
      const answer = await route.fetch();
      const session = (await answer.json()) as Session; // The API's own answer.
      const isOpen = session.acting === 'open';
      const development_key = isOpen ? service.key : null;
      await route.fulfill({
        response: answer,
        json: { ...session, takes_development_key: true, development_key },
      });
    });
    await page.reload();
    await page.getByText('Unlock the console to use the development key').waitFor();
    expect(await button(page, 'Send').isDisabled()).toBe(true);
    await button(page, 'Locked').click();
    await unlock(page);
    await page.getByText('The development key of this service').waitFor();
    await button(page, 'Send').click();
    await page.getByText('Done', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows what the model calls, keeps what was typed over a reload, and takes back what runs in the background', async () => {
    const { page, complaints } = await open('/playground');
    await page.getByLabel('API key').fill(service.key);
    await page.getByLabel('Input', { exact: true }).fill('What is the weather in Ulm?');
    const tool = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } };
    await page.getByLabel('Tools').fill(JSON.stringify([tool]));
    await button(page, 'Send').click();
    await page.getByText('Done', { exact: true }).waitFor();
    await page.getByRole('list', { name: 'Calls of tools' }).getByText('weather', { exact: true }).waitFor();
    await page.reload();
    expect(await page.getByLabel('Input', { exact: true }).inputValue()).toBe('What is the weather in Ulm?');
    await page.getByLabel('Tools').fill('');
    await page.getByRole('combobox', { name: 'Model' }).fill('slow');
    await page.getByLabel('Input', { exact: true }).fill('Go on [[sluice: tokens=1000]]');
    await page.getByRole('checkbox', { name: 'Stream' }).uncheck();
    await page.getByRole('checkbox', { name: 'Background' }).check();
    await button(page, 'Send').click();
    await page.getByText('in progress', { exact: true }).waitFor();
    await button(page, 'Stop').click();
    await page.getByText('Stopped', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Its page' }).click();
    await page.getByText('Cancelled', { exact: true }).first().waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Playground' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('makes a key that is taken, shows it once, and revokes it', async () => {
    // Its clock is that of the context.
    const { page, complaints } = await openConsole(browser, urlOf('/keys'));
    await page.clock.install();
    await button(page, 'Create a key').click();
    await unlock(page);
    await page
      .getByRole('dialog', { name: 'Create a key' })
      .getByLabel(/^Tenant/)
      .fill('newcomers');
    await button(page, 'Create the key').click();
    await page.getByRole('alert').getByText('It is kept nowhere').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    const key = (await page.getByRole('dialog').locator('pre').textContent()) ?? '';
    const models = () =>
      fetch(`${service.apiUrls[0]}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    await eventually(async () => expect((await models()).status).toBe(200));
    await button(page, 'I have copied it').click();
    expect(await page.content()).not.toContain(key);
    await page.clock.fastForward(pageRefreshMs);
    await page
      .getByRole('row', { name: /newcomers/ })
      .getByRole('button', { name: /revoke/i })
      .click();
    // Its first answer says that a replica does not have it yet.
    await page.route(
      '**/revoke',
      async (route) => {
        const response = await route.fetch();
        const revoked: object = await response.json();
        await route.fulfill({ response, json: { ...revoked, is_safe: false } });
      },
      { times: 1 },
    );
    await button(page, 'Revoke the key').click();
    const unsafe = page.getByText('has not yet stored this as safely');
    await unsafe.waitFor();
    const answered = latch();
    await page.route(
      '**/revoke',
      async (route) => {
        await answered.wait();
        await route.fulfill({ status: 503, json: {} });
      },
      { times: 1 },
    );
    await button(page, 'Look again').click();
    await eventually(async () => expect(await button(page, 'Look again').isDisabled()).toBe(true));
    answered.open();
    await page.getByText('Nobody knows yet whether it is stored safely.').waitFor();
    complaints.length = 0; // of that answer
    await button(page, 'Look again').click();
    await unsafe.waitFor({ state: 'detached' });
    await page.getByText('The key of newcomers is revoked.').waitFor();
    await eventually(async () => expect((await models()).status).toBe(401));
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('changes the limits of a tenant, and says at the field what cannot be', async () => {
    const made = await fetch(`${service.adminUrls[0]}/admin/v1/keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sluice-action-token': actionToken },
      body: JSON.stringify({ tenant: 'limited', limits: { queued: 40 } }),
    });
    const { key } = (await made.json()) as { key: string }; // As the schema of the answer says.
    const tenants = async () => (await fetch(`${service.adminUrls[0]}/admin/v1/tenants`)).text();
    await eventually(async () => expect(await tenants()).toContain('limited'));
    const { page, complaints } = await open('/tenants');
    await page.getByRole('link', { name: 'limited', exact: true }).click();
    await button(page, 'Change limits').click();
    await unlock(page);
    const dialog = page.getByRole('dialog', { name: 'Limits of limited' });
    expect(await dialog.getByLabel('Waiting at a time').inputValue()).toBe('40');
    for (const { label } of Object.values(tenantLimits))
      expect(await dialog.getByLabel(label).count()).toBe(1);
    expect(await button(page, 'Change the limits').isDisabled()).toBe(true);
    await dialog.getByLabel('Requests per minute').fill('many');
    await button(page, 'Change the limits').click();
    await dialog.getByText(/requestsPerMinute/).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByLabel('Requests per minute').fill('1');
    await dialog.getByLabel('Waiting at a time').fill('');
    await button(page, 'Change the limits').click();
    await page.getByText('The stored key of limited is changed.').waitFor();
    const create = () =>
      fetch(`${service.apiUrls[0]}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'simulator', input: 'Hi' }),
      });
    await eventually(async () =>
      expect((await create()).headers.get('x-ratelimit-limit-requests')).toBe('1'),
    );
    // Each notice of one that is not safe yet stays, and keeps no later one away.
    const several = 6;
    const unsafeAnswer = { json: { keys: 1, is_safe: false } };
    await page.route('**/limits', (route) => route.fulfill(unsafeAnswer), { times: several });
    for (let perMinute = 2; perMinute <= several + 1; perMinute += 1) {
      // By the keyboard: notices may stand before a button.
      await button(page, 'Change limits').press('Enter');
      await dialog.getByLabel('Requests per minute').fill(`${perMinute}`);
      await button(page, 'Change the limits').press('Enter');
      await dialog.waitFor({ state: 'hidden' });
    }
    const unsafe = page.getByText('has not yet stored this as safely');
    await eventually(async () => expect(await unsafe.count()).toBe(several));
    // The change that was refused.
    expect(complaints).toEqual([
      expect.stringMatching(/^400 for .*\/tenants\/limited\/limits$/),
      expect.stringContaining('status of 400'),
    ]);
  });

  it('says at the field why a cell cannot be added', async () => {
    const { page, complaints } = await open('/cells');
    await button(page, 'Add a cell').click();
    await unlock(page);
    const dialog = page.getByRole('dialog', { name: 'Add a cell' });
    await dialog.getByLabel('Address').fill('redis://:a-password@127.0.0.1:6379?cell=0');
    await button(page, 'Add the cell').click();
    await dialog.getByText(/names the cell '0', which there is/).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await takePicture(page, 'console-cell-refused');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(complaints).toEqual([
      expect.stringMatching(/^400 for .*\/cells$/),
      expect.stringContaining('status of 400'),
    ]);
  });

  it('asks for the token before a form, also who clicks before it knows whether one is needed', async () => {
    const { page, complaints } = await open('/audit');
    const session = latch();
    await page.route('**/admin/v1/session', async (route) => {
      await session.wait();
      await route.continue();
    });
    await page.goto(`${service.adminUrls[0]}/console/keys`);
    await button(page, 'Create a key').click();
    session.open();
    await unlock(page);
    await page.getByRole('dialog', { name: 'Create a key' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('goes back and forward through filters, by the browser', async () => {
    const { page, complaints } = await open('/responses');
    await button(page, 'Status').click();
    await page.getByRole('option', { name: 'Failed' }).click();
    await page.getByText('1 response', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await table(page).getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Where its time went' }).waitFor();
    await page.goBack();
    await page.getByText('1 response', { exact: true }).waitFor();
    await page.goBack();
    await page.getByText(/^\d\d+ responses$/).waitFor();
    await page.goForward();
    await page.getByText('1 response', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });
});
