import { once } from 'node:events';
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { FileFolder, Files } from '@sluice/files';
import { eventually, latch, testRedis, type TestRedis, within } from '@sluice/testing';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  Batches,
  BatchRecords,
  BatchRunner,
  type BatchRunnerOptions,
  BatchStore,
  endOf,
  type LineAnswer,
  LineLeft,
  type LineServer,
  parseLine,
} from '../src/index.ts';
import { longestLine } from '../src/batch-lines.ts';

const owner = { tenant: 'team-a', key: 'a1b2c3d4e5f60718' };
const day = 24 * 3_600_000;
const logger = pino({ level: 'silent' });
const limits = { bytes: 1e9, tenantBytes: 1e9, tenantFiles: 100 };

let redis: TestRedis;
let folder: string;
let now: number;
let files: Files;
let store: BatchStore;
/** Lines that wait for the end of their batch. */
let waiting: number;
/** Lines whose bodies nobody needs any more. */
let freed: string[];
let batches: Batches;
const stops: (() => Promise<void>)[] = [];

beforeEach(async () => {
  waiting = 0;
  freed = [];
  redis = await testRedis();
  folder = await mkdtemp(join(tmpdir(), 'sluice-batches-'));
  now = 1_700_000_000_000;
  files = new Files({ store: new FileFolder(folder), limits, logger, now: () => now });
  store = new BatchStore({ connection: redis.client, keyPrefix: redis.prefix });
  batches = new Batches({ store, files, now: () => now });
});
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
  await redis.close();
  await rm(folder, { recursive: true, force: true });
});

/** Answers a line at once, unless its input says `wait`: such a one runs until its batch ends before it. */
const server: LineServer = {
  check: () => Promise.resolve(undefined),
  refuse: (_endpoint, { code, param }) => ({
    status: 400,
    requestId: 'req_refused',
    body: JSON.stringify({ error: { code, param } }),
    tokens: undefined,
    isCancelled: false,
    forget: undefined,
  }),
  async run(_owner, { body }, { ending, leaving }): Promise<LineAnswer> {
    const { input } = JSON.parse(Buffer.from(body).toString()) as { input: string };
    if (ending.aborted) throw new LineLeft();
    if (input === 'wait') {
      waiting += 1;
      const over = latch();
      for (const signal of [ending, leaving]) signal.addEventListener('abort', () => over.open());
      if (ending.aborted || leaving.aborted) over.open();
      await over.wait().finally(() => (waiting -= 1));
      throw new LineLeft();
    }
    const isRight = input !== 'wrong';
    return {
      status: isRight ? 200 : 400,
      requestId: `req_${input}`,
      body: JSON.stringify(isRight ? { output: input } : { error: { code: 'invalid_value' } }),
      tokens: { input: 1, cached: 0, output: 2, reasoning: 0 },
      isCancelled: false,
      free: () => void freed.push(input),
      forget: undefined,
    };
  },
};

/** Notes which lines it is asked for. Each runs until its batch ends before it. */
function aServerThatWaits(): { server: LineServer; asked: string[] } {
  const asked: string[] = [];
  const run: LineServer['run'] = async (_owner, { idempotencyKey }, { ending, leaving }) => {
    asked.push(idempotencyKey);
    const stop = AbortSignal.any([ending, leaving]);
    if (!stop.aborted) await once(stop, 'abort');
    throw new LineLeft();
  };
  return { server: { ...server, run }, asked };
}

function aBatch(inputs: readonly string[], by = owner): Promise<string> {
  const lines = inputs.map((input, at) =>
    JSON.stringify({ custom_id: `line-${at}`, method: 'POST', url: '/v1/responses', body: { input } }),
  );
  return aBatchOf(`${lines.join('\n')}\n`, by);
}

async function aFileOf(input: string, tenant = owner.tenant): Promise<string> {
  const draft = await files.receive(tenant, Readable.from(Buffer.from(input)));
  return (await files.keep(tenant, { name: 'in.jsonl', purpose: 'batch' }, draft)).id;
}

async function aBatchOf(input: string, by = owner): Promise<string> {
  const asked = {
    input_file_id: await aFileOf(input, by.tenant),
    endpoint: '/v1/responses',
    completion_window: '24h',
  } as const;
  return (await batches.create(by, asked)).id;
}

type Told = Parameters<BatchRunnerOptions['onEnd']>[1] & { id: string };

function aRunner(more: Partial<BatchRunnerOptions> = {}): { runner: BatchRunner; told: Told[] } {
  const told: Told[] = [];
  const runner = new BatchRunner({
    connection: redis.client,
    keyPrefix: redis.prefix,
    store,
    files,
    server,
    readLine: (_tenant, raw, endpoint) => parseLine(raw, endpoint),
    logger,
    linesAtOnce: 10,
    resultBytes: 1e9,
    leaseMs: 1_000,
    now: () => now,
    everyMs: 10,
    onEnd: async ({ id }, end) => void told.push({ id, ...end }),
    ...more,
  });
  runner.start();
  stops.push(() => runner.stop());
  return { runner, told };
}

/** Runs a batch to its end in a process that nobody hears tell of it. */
async function endUnheard(): Promise<void> {
  const asked = latch();
  const { runner } = aRunner({
    onEnd: () => {
      asked.open();
      return Promise.reject(new Error('away'));
    },
  });
  await asked.wait();
  await runner.stop();
}

const ended = (id: string) =>
  eventually(async () => {
    const batch = await batches.get(owner.tenant, id);
    return ['completed', 'failed', 'expired', 'cancelled'].includes(batch.status) && batch;
  });

/** Waits until so many lines of a batch have been answered. */
const completedLines = (id: string, count: number) =>
  eventually(async () => (await batches.get(owner.tenant, id)).request_counts.completed === count);

/** The lines of a file of results, in the order of their ids. */
async function linesIn(id: string | null): Promise<Record<string, unknown>[]> {
  const { content } = await files.read(owner.tenant, id ?? '');
  const lines = (await text(content)).trimEnd().split('\n');
  return lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .toSorted((one, other) => (String(one['custom_id']) < String(other['custom_id']) ? -1 : 1));
}

describe('a batch', () => {
  it('is refused once its tenant has no room for the files of its results', async () => {
    const few = { ...limits, tenantFiles: 2 };
    files = new Files({ store: new FileFolder(folder), limits: few, logger, now: () => now });
    batches = new Batches({ store, files, now: () => now });
    const create = (input_file_id: string) =>
      batches.create(owner, { input_file_id, endpoint: '/v1/responses', completion_window: '24h' });
    const first = await aFileOf('{}\n');
    expect(await create(first)).toMatchObject({ status: 'validating' });
    const second = await aFileOf('{}\n');
    await expect(create(second)).rejects.toMatchObject({ code: 'file_limit_reached' });
    await files.remove(owner.tenant, first);
    expect(await create(second)).toMatchObject({ status: 'validating' });
  });

  it('that is not over within its window keeps what has ended, and says of the rest that it expired', async () => {
    const id = await aBatch(['one', 'wait', 'wrong', 'wait', 'two']);
    const { told } = aRunner();
    await eventually(async () => {
      const { request_counts: counts } = await batches.get(owner.tenant, id);
      expect(counts).toEqual({ total: 5, completed: 2, failed: 1 });
      return true;
    });
    now += day;
    const batch = await ended(id);
    expect(batch).toMatchObject({
      status: 'expired',
      request_counts: { total: 5, completed: 2, failed: 3 },
      expired_at: now / 1_000,
    });
    expect(await linesIn(batch.output_file_id)).toMatchObject([
      { custom_id: 'line-0', response: { status_code: 200, body: { output: 'one' } }, error: null },
      { custom_id: 'line-4', response: { body: { output: 'two' } } },
    ]);
    expect(await linesIn(batch.error_file_id)).toMatchObject([
      { custom_id: 'line-1', response: null, error: { code: 'batch_expired' } },
      { custom_id: 'line-2', response: { status_code: 400 } },
      { custom_id: 'line-3', response: null, error: { code: 'batch_expired' } },
    ]);
    expect(freed.toSorted()).toEqual(['one', 'two', 'wrong']);
    await eventually(() => told.length > 0);
    expect(told).toEqual([{ id, status: 'expired', at: now }]);
  });

  it('of too many lines fails, with the empty ones', async () => {
    const id = await aBatchOf('\n'.repeat(200_000));
    aRunner();
    expect(await ended(id)).toMatchObject({
      status: 'failed',
      errors: {
        data: [{ code: 'too_many_lines', line: 100_001, message: expect.stringContaining('100000') }],
      },
    });
  });

  it('of messages runs beside those that are wrong, and each of these has its own error', async () => {
    const lineOf = (custom_id: string, body: object) =>
      `${JSON.stringify({ custom_id, method: 'POST', url: '/v1/messages', body })}\n`;
    const long = { input: 'x'.repeat(longestLine) };
    const input =
      lineOf('a', { input: 'one' }) + lineOf('b', { input: 'two', stream: true }) + lineOf('c', long);
    const records = new BatchRecords({ store, endpoints: ['/v1/messages'], now: () => now });
    const asked = { endpoint: '/v1/messages' as const, inputFileId: await aFileOf(input), total: 3 };
    const { id } = await records.add(owner, asked);
    aRunner();
    const batch = await eventually(async () => {
      const known = await records.get(owner.tenant, id);
      return known && endOf(known.batch) && known.batch;
    });
    expect(batch).toMatchObject({ status: 'completed', errors: [], counts: { completed: 1, failed: 2 } });
    expect(await linesIn(batch.files?.output ?? null)).toMatchObject([{ custom_id: 'a' }]);
    expect(await linesIn(batch.files?.errors ?? null)).toMatchObject([
      { custom_id: 'b', response: { body: { error: { code: 'unsupported_value', param: 'body.stream' } } } },
      { custom_id: 'c', response: { body: { error: { code: 'line_too_long' } } } },
    ]);
  });

  it('that nobody ran within its window expires as a whole', async () => {
    const id = await aBatch(['one', 'two']);
    now += 2 * day;
    aRunner();
    const batch = await ended(id);
    expect(batch).toMatchObject({ status: 'expired', output_file_id: null });
    expect(await linesIn(batch.error_file_id)).toHaveLength(2);
  });

  it('whose input is deleted while it runs fails with what has ended, in the process that goes on with it', async () => {
    const id = await aBatch(['one', 'wait', 'two']);
    const { runner } = aRunner({ linesAtOnce: 1 });
    await completedLines(id, 1);
    await files.remove(owner.tenant, (await batches.get(owner.tenant, id)).input_file_id);
    await runner.stop();
    expect((await batches.get(owner.tenant, id)).status).toBe('in_progress');
    const { told } = aRunner();
    const batch = await ended(id);
    expect(batch).toMatchObject({
      status: 'failed',
      errors: { data: [{ code: 'not_found', param: 'input_file_id' }] },
      request_counts: { completed: 1 },
    });
    expect(await linesIn(batch.output_file_id)).toMatchObject([{ custom_id: 'line-0' }]);
    await eventually(() => told.length > 0);
    expect(told).toMatchObject([{ status: 'failed' }]);
  });

  it('fails with what has ended when its results are too large, unless that is all of them', async () => {
    const [large, whole] = [await aBatch(['one', 'two', 'three']), await aBatch(['one'])];
    const { told } = aRunner({ linesAtOnce: 1, resultBytes: 10 });
    const batch = await ended(large);
    expect(batch).toMatchObject({
      status: 'failed',
      errors: { data: [{ code: 'file_limit_reached', message: expect.stringContaining('10 bytes') }] },
      request_counts: { total: 3, completed: 1, failed: 0 },
    });
    expect(await linesIn(batch.output_file_id)).toMatchObject([{ custom_id: 'line-0' }]);
    expect(await ended(whole)).toMatchObject({ status: 'completed', request_counts: { completed: 1 } });
    await eventually(() => told.length === 2);
  });

  it('whose input was deleted can be cancelled, and expires', async () => {
    const [cancelled, expired] = [await aBatch(['wait']), await aBatch(['wait'])];
    const { runner } = aRunner();
    await eventually(() => waiting === 2);
    for (const id of [cancelled, expired]) {
      await files.remove(owner.tenant, (await batches.get(owner.tenant, id)).input_file_id);
    }
    await runner.stop();
    await batches.cancel(owner.tenant, cancelled);
    now += 2 * day;
    aRunner();
    expect((await ended(cancelled)).status).toBe('cancelled');
    expect((await ended(expired)).status).toBe('expired');
  });

  describe.each([
    ['cancelled', (id: string) => batches.cancel(owner.tenant, id)],
    ['expired', () => Promise.resolve((now += day))],
  ] as const)('whose lines one process began, which is %s', (status, end) => {
    let id: string;
    beforeEach(async () => {
      id = await aBatch(['one', 'wait', 'wait', 'two']);
      const { runner } = aRunner();
      await completedLines(id, 2);
      await runner.stop();
    });

    it('before another process took it ends them', async () => {
      await end(id);
      const asked: string[] = [];
      aRunner({
        server: {
          ...server,
          run: (_owner, { idempotencyKey }, { ending }) => {
            if (ending.aborted) asked.push(idempotencyKey);
            return Promise.reject(new LineLeft());
          },
        },
      });
      expect(await ended(id)).toMatchObject({ status, request_counts: { completed: 2 } });
      expect(asked).toEqual([`${id}:2`, `${id}:3`]);
    });

    it('while another process goes through it ends them', async () => {
      const { server: second, asked } = aServerThatWaits();
      aRunner({ server: second, linesAtOnce: 1 });
      await eventually(() => asked.length > 0);
      await end(id);
      expect(await ended(id)).toMatchObject({ status, request_counts: { completed: 2 } });
      expect(asked).toEqual([`${id}:2`, `${id}:3`]);
    });
  });

  it('takes the response of a line away once its result is saved, unless another process may look for it by then', async () => {
    const forgotten: string[] = [];
    const [begun, going, back] = [latch(), latch(), latch()];
    const run: LineServer['run'] = async (...asked) => {
      const [, { idempotencyKey }] = asked;
      begun.open();
      await going.wait();
      const forget = () => Promise.resolve(void forgotten.push(idempotencyKey));
      return { ...(await server.run(...asked)), forget };
    };
    let isAway = false;
    const hold = (async (...args: [string, number, ...string[]]) => {
      if (isAway) await back.wait();
      return redis.client.eval(...args);
    }) as BatchRunnerOptions['connection']['eval']; // in the one form in which it is called
    stops.push(() => Promise.resolve(back.open()));
    const id = await aBatch(['one']);
    const { runner } = aRunner({ server: { ...server, run }, connection: { eval: hold }, leaseMs: 50 });
    await begun.wait();
    isAway = true;
    await eventually(async () => (await redis.client.exists(`${redis.prefix}batches-lease`)) === 0);
    going.open();
    expect((await ended(id)).status).toBe('completed');
    expect(forgotten).toEqual([]);
    isAway = false;
    back.open();
    await runner.stop();
    const held = await aBatch(['one']);
    aRunner({ server: { ...server, run } });
    await ended(held);
    expect(forgotten).toEqual([`${held}:1`]);
  });

  it('whose cancellation a store forgets once it was seen is cancelled all the same', async () => {
    const id = await aBatch(['one', 'wait']);
    const begun = latch();
    const run: LineServer['run'] = async (_owner, _request, { ending }) => {
      begun.open();
      if (!ending.aborted) await once(ending, 'abort');
      await store.change({ tenant: owner.tenant, id }, (batch) => ({ ...batch, status: 'in_progress' }));
      throw new LineLeft();
    };
    aRunner({ server: { ...server, run } });
    await begun.wait();
    await batches.cancel(owner.tenant, id);
    expect((await ended(id)).status).toBe('cancelled');
  });

  it('that ends in the process that began it asks for no further line', async () => {
    const id = await aBatch(['one', 'two']);
    const { server: only, asked } = aServerThatWaits();
    aRunner({ server: only, linesAtOnce: 1 });
    await eventually(() => asked.length > 0);
    await batches.cancel(owner.tenant, id);
    expect((await ended(id)).status).toBe('cancelled');
    expect(asked).toEqual([`${id}:1`]);
  });

  it('that has ended is told of until somebody has heard it, also by another process', async () => {
    const id = await aBatch(['one']);
    await endUnheard();
    expect((await batches.get(owner.tenant, id)).status).toBe('completed');
    const { told } = aRunner();
    await eventually(() => told.length > 0);
    await eventually(async () => (await store.open()).length === 0);
    expect(told).toEqual([{ id, status: 'completed', at: now }]);
  });

  it('leaves no work behind, even if the process that ended it died before that', async () => {
    const id = await aBatch(['one']);
    await endUnheard();
    const places = () => readdir(join(folder, 'batches'));
    expect(await places()).toEqual([]);
    // As such a process leaves it.
    await files.openWork(id);
    expect(await places()).toEqual([id]);
    aRunner();
    await eventually(async () => (await store.open()).length === 0);
    expect(await places()).toEqual([]);
  });
});

describe('the process that runs batches', () => {
  it('takes away each hour what batches that ended long ago have left', async () => {
    const leave = async (name: string) => {
      const { path } = await files.openWork(name);
      await utimes(path, 0, 0);
    };
    const areGone = () => eventually(async () => (await readdir(join(folder, 'batches'))).length === 0);
    await leave('first');
    aRunner();
    await areGone();
    await leave('second');
    now += 3_600_000;
    await areGone();
  });

  it.each(['openWork', 'keep', 'removeWork'] as const)(
    'leaves a batch whose files are slow, in %s',
    async (slow) => {
      const id = await aBatch(['one']);
      const asked = latch();
      const own = new Files({ store: new FileFolder(folder), limits, logger, now: () => now });
      // As a bucket that does not answer.
      const isLeft = (...given: unknown[]) =>
        new Promise((_resolve, reject) => {
          const signal = given.find((each) => each instanceof AbortSignal);
          const leave = () => reject(new Error('left'));
          signal?.addEventListener('abort', leave);
          // A process that has stood still may have left before it asks.
          if (signal?.aborted) leave();
          asked.open();
        });
      Object.assign(own, { [slow]: isLeft });
      const { runner } = aRunner({ files: own });
      await asked.wait();
      await within(runner.stop());
      aRunner();
      expect(await ended(id)).toMatchObject({ status: 'completed', request_counts: { completed: 1 } });
    },
  );

  it('runs those of a tenant while another one has more than its places, all of which wait', async () => {
    for (let count = 0; count < 10; count += 1) await aBatch(['wait']);
    aRunner();
    await eventually(() => waiting >= 4);
    const other = { ...owner, tenant: 'team-b' };
    const id = await aBatch(['one'], other);
    await eventually(async () => (await batches.get(other.tenant, id)).status === 'completed');
    // None at all for a moment, where the lease was late.
    expect(waiting).toBeLessThanOrEqual(4);
  });
});
