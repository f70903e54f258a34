import { eventually, hasServer, type LocalRedis, startLocalRedis, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { startBalancedLoad } from './balanced-load.ts';
import { callerOf } from './caller.ts';
import { type Service, startService } from './service.ts';
import { startProcess } from './sluice-process.ts';

/** The cell that is added; of the two, it is the home of the tenant of the tests. */
const added = '1';

const cellOf = (id: string) => id[id.indexOf('_') + 1];

/** Replaces every process by one with other addresses, one after the other. */
async function rollOut(
  service: Service,
  addresses: string,
  reaches: (url: string) => boolean,
): Promise<void> {
  service.setAddresses(addresses);
  for (const leaving of service.workers.filter(({ isRunning }) => isRunning())) {
    await service.addWorker();
    leaving.signal('SIGTERM');
    expect(await within(leaving.exited, { timeoutMs: 30_000 })).toEqual({ code: 0, signal: null });
  }
  for (const leaving of service.apis.filter(({ isRunning }) => isRunning())) {
    const api = await service.addApi();
    await eventually(() => reaches(api.url));
    leaving.signal('SIGTERM');
    expect(await within(leaving.exited, { timeoutMs: 30_000 })).toEqual({ code: 0, signal: null });
  }
}

/** Runs `sluice cells` to its end. */
async function cellsCommand(service: Service, ...args: string[]) {
  const process = startProcess({ command: 'cells', args, env: service.env });
  const { code } = await process.exited;
  return { code, out: process.output() };
}

async function cellsOf(service: Service): Promise<Record<string, unknown>[]> {
  const { out } = await cellsCommand(service, '--json');
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The newest api. */
function callerNow(service: Service) {
  return callerOf(service.apiUrls.at(-1) ?? '', service.key);
}

describe.skipIf(!hasServer)('cells that come and go, where there is a server', () => {
  it('are added and drained under load, and nothing is lost or asked for twice', async () => {
    const [first, second] = await Promise.all([startStore(), startStore()]);
    const one = `${first.url}?cell=0`;
    const joining = `${one} ${second.url}?cell=${added}&drain`;
    const both = `${one} ${second.url}?cell=${added}`;
    const service = await startService({
      redisUrl: first.url,
      redisUrlOfProcesses: one,
      apis: 2,
      workers: 1,
    });
    const load = startBalancedLoad(service);
    const key = { 'idempotency-key': 'once-whatever-happens' };
    let answers: string[] = [];
    try {
      const before = (await callerNow(service).create({ input: 'Hi' }, { headers: key })).body;
      expect(cellOf(before.id)).toBe('0');
      await rollOut(service, joining, load.reaches);
      expect(cellOf((await callerNow(service).create({ input: 'Hi' })).body.id)).toBe('0');
      await rollOut(service, both, load.reaches);
      const there = (await callerNow(service).create({ input: 'Hi' })).body;
      expect(cellOf(there.id)).toBe(added);
      // What it has begun elsewhere is found by its key, goes on where it is, and is on the same list.
      const again = await callerNow(service).create({ input: 'Hi' }, { headers: key });
      expect(again.body.id).toBe(before.id);
      const next = await callerNow(service).create({ input: 'And?', previous_response_id: before.id });
      expect(cellOf(next.body.id)).toBe('0');
      expect((await callerNow(service).get(before.id)).status).toBe(200);

      await rollOut(service, joining, load.reaches);
      expect(cellOf((await callerNow(service).create({ input: 'Hi' })).body.id)).toBe('0');
      expect((await callerNow(service).get(there.id)).status).toBe(200);
      const continued = await callerNow(service).create({ input: 'And?', previous_response_id: there.id });
      expect(cellOf(continued.body.id)).toBe(added);
      expect(await cellsOf(service)).toMatchObject([
        { cell: '0', state: 'open', may_go_at: null },
        { cell: added, state: 'draining', open: 0, waiting: 0, may_go_at: expect.stringMatching(/^\d{4}-/) },
      ]);
    } finally {
      answers = await load.end();
    }
    expect(answers).toEqual(['stream completed', 'whole 200']);

    // Its responses are kept, so a process that lacks it does not start until somebody says that it is gone.
    service.setAddresses(one);
    await expect(service.addApi()).rejects.toThrow(`does not name the cell '${added}' any more`);
    expect(await cellsOf(service)).toMatchObject([{ cell: '0' }, { cell: added, state: 'not in REDIS_URL' }]);
    expect((await cellsCommand(service, 'forget', '0')).out).toContain("names the cell '0'");
    expect((await cellsCommand(service, 'forget', added)).code).toBe(0);
    const api = await service.addApi();
    expect((await callerOf(api.url, service.key).create({ input: 'Hi' })).status).toBe(200);
    await service.stop().catch(() => undefined); // The api that did not start has ended with a failure.
    for (const store of [first, second]) await store.stop();
  });
});

function startStore(): Promise<LocalRedis> {
  return startLocalRedis({ kind: 'server' });
}
