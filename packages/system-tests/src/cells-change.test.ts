import { eventually, hasServer, type LocalRedis, startLocalRedis, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { startBalancedLoad } from './balanced-load.ts';
import { callerOf } from './caller.ts';
import { type Service, startService } from './service.ts';
import { linesOfJson, startProcess } from './sluice-process.ts';

/** The cell that is added; of the two, it is the home of the tenant of the tests. */
const added = '1';

const cellOf = (id: string) => id[id.indexOf('_') + 1];

/** Runs `sluice cells` to its end. */
async function cellsCommand(service: Service, ...args: string[]) {
  const process = startProcess({ command: 'cells', args, env: service.env });
  // It may wait for every process of the service. What it has said by then tells for which.
  const { code } = await within(process.exited, { timeoutMs: 150_000 }).catch((error: unknown) => {
    throw new Error(`'cells ${args.join(' ')}' goes on: ${process.output()}`, { cause: error });
  });
  return { code, out: process.output() };
}

async function cellsOf(service: Service): Promise<Record<string, unknown>[]> {
  const { out } = await cellsCommand(service, '--json');
  return linesOfJson(out);
}

describe.skipIf(!hasServer)('cells that come and go, where there is a server', () => {
  it('are added, drained and taken away under load, without a restart, and nothing is lost or asked for twice', async () => {
    const [first, second] = await Promise.all([startStore(), startStore()]);
    const service = await startService({ redisUrl: first.url, apis: 2, workers: 1 });
    const load = startBalancedLoad(service);
    const [one, other] = service.apiUrls.map((url) => callerOf(url, service.key));
    if (!one || !other) throw new Error('there are two');
    const key = { 'idempotency-key': 'once-whatever-happens' };
    const cellOfNew = async () => cellOf((await one.create({ input: 'Hi' })).body.id);
    let answers: string[] = [];
    try {
      const before = (await one.create({ input: 'Hi' }, { headers: key })).body;
      expect(cellOf(before.id)).toBe('0');
      const address = `${second.url}?cell=${added}`;
      expect(await cellsCommand(service, 'add', `${first.url}?cell=0`)).toMatchObject({
        code: 2,
        out: expect.stringContaining("names the cell '0', which there is"),
      });
      expect(await cellsCommand(service, 'add', address)).toMatchObject({
        code: 0,
        out: expect.stringContaining(`The cell '${added}' takes new responses.`),
      });
      await eventually(async () => (await cellOfNew()) === added);
      const there = (await other.create({ input: 'Hi' })).body;
      expect(cellOf(there.id)).toBe(added);
      // The tenant's earlier response is found by its key, goes on where it is, and is read as before.
      for (const caller of [one, other])
        expect((await caller.create({ input: 'Hi' }, { headers: key })).body.id).toBe(before.id);
      const next = await one.create({ input: 'And?', previous_response_id: before.id });
      expect(cellOf(next.body.id)).toBe('0');
      expect((await one.get(before.id)).status).toBe(200);

      expect((await cellsCommand(service, 'drain', added)).code).toBe(0);
      await eventually(async () => (await cellOfNew()) === '0');
      expect((await other.get(there.id)).status).toBe(200);
      const continued = await other.create({ input: 'And?', previous_response_id: there.id });
      expect(cellOf(continued.body.id)).toBe(added);
      expect(await cellsOf(service)).toMatchObject([
        { cell: '0', origin: 'settings', state: 'open', may_go_at: null },
        {
          cell: added,
          origin: 'stored',
          state: 'draining',
          open: 0,
          waiting: 0,
          may_go_at: expect.stringMatching(/^\d{4}-/),
        },
      ]);
      // One that starts now reaches it, too.
      const late = callerOf((await service.addApi()).url, service.key);
      expect((await late.get(there.id)).status).toBe(200);
      expect(await cellsCommand(service, 'remove', added)).toMatchObject({
        code: 2,
        out: expect.stringContaining('where responses may live until'),
      });
      expect((await cellsCommand(service, 'drain', '0')).out).toContain('the only cell that takes new');
      expect((await cellsCommand(service, 'forget', added)).code).toBe(0);
      await eventually(async () => (await late.get(there.id)).status === 404);
      expect(await cellsOf(service)).toMatchObject([{ cell: '0' }]);
      await second.stop();
      expect((await one.create({ input: 'Hi' })).status).toBe(200);
    } finally {
      answers = await load.end();
    }
    expect(answers).toEqual(['stream completed', 'whole 200']);
    await service.stop();
    for (const store of [first, second]) await store.stop();
  });

  it('are not left out of REDIS_URL while responses may live there', async () => {
    const [first, second] = await Promise.all([startStore(), startStore()]);
    const one = `${first.url}?cell=0`;
    const service = await startService({
      redisUrl: first.url,
      redisUrlOfProcesses: `${one} ${second.url}?cell=${added}`,
      apis: 1,
      workers: 0,
    });
    await eventually(async () => (await cellsOf(service)).length === 2);
    expect((await cellsCommand(service, 'forget', '0')).out).toContain("is '0', which REDIS_URL names");
    service.setAddresses(one);
    const [running] = service.apis;
    running?.signal('SIGTERM');
    await running?.exited;
    await expect(service.addApi()).rejects.toThrow(`does not name the cell '${added}' any more`);
    expect(await cellsOf(service)).toMatchObject([{ cell: '0' }, { cell: added, state: 'unknown' }]);
    expect((await cellsCommand(service, 'forget', added)).code).toBe(0);
    await service.addApi();
    await service.stop().catch(() => undefined); // The api that did not start has ended with a failure.
    for (const store of [first, second]) await store.stop();
  });
});

function startStore(): Promise<LocalRedis> {
  return startLocalRedis({ kind: 'server' });
}
