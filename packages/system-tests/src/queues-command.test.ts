import { readFile, writeFile } from 'node:fs/promises';
import { eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';
import { linesOfJson } from './sluice-process.ts';

const service = testService(() => ({
  workers: 0,
  settings: {
    providers: [{ id: 'simulator', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 }],
    models: [
      { id: 'simulator', routes: [{ provider: 'simulator' }] },
      { id: 'team/other', routes: [{ provider: 'simulator' }] },
    ],
  },
}));

const queues = (...args: string[]) => service.run('queues', ...args);

async function listed(queue: string, ...args: string[]): Promise<Record<string, unknown>> {
  const { output } = await queues('list', '--json', ...args);
  return linesOfJson(output).find((line) => line['queue'] === queue) ?? {};
}

const inBackground = async (model: string) =>
  (await service.caller.create({ model, input: 'Hi', background: true })).body.id;
const statusOf = async (id: string) => (await service.caller.get(id)).body.status;

describe('sluice queues', () => {
  it('pauses a queue for every process, and resumes it', async () => {
    const { code, output } = await queues('pause', 'team/other', '--json');
    expect([code, JSON.parse(output)]).toEqual([0, { queue: 'team/other', state: 'paused' }]);
    const id = await inBackground('team/other');
    expect(await listed('team/other')).toMatchObject({ state: 'paused', waiting: 1, active: 0 });
    expect(await listed('simulator')).toMatchObject({ state: 'open', waiting: 0 });
    await service.addWorker();
    expect((await service.caller.create({ input: 'Hi' })).body.status).toBe('completed');
    expect(await statusOf(id)).toBe('queued');
    expect(await queues('resume', 'team/other')).toMatchObject({ code: 0 });
    await eventually(async () => (await statusOf(id)) === 'completed');
    const table = (await queues('list')).output;
    expect(table).toMatch(/^simulator +open +0 +0 +-$/m);
  });

  it('shows and empties the queue of a model that is no longer in the settings', async () => {
    await queues('pause', 'team/other');
    const id = await inBackground('team/other');
    const file = `${service.file}.without.yaml`;
    await writeFile(file, (await readFile(service.file, 'utf8')).replace('"team/other"', '"another"'));
    expect(await listed('team/other', '--config', file)).toMatchObject({ state: 'paused', waiting: 1 });
    expect((await queues('drain', 'team/other', '--yes', '--config', file)).output).toBe('Cancelled 1.\n');
    expect(await listed('team/other', '--config', file)).toEqual({});
    expect(await statusOf(id)).toBe('cancelled');
    expect((await queues('drain', 'team/other', '--yes', '--config', file)).output).toMatch(
      /^.*There is no queue 'team\/other'/m,
    );
    await queues('resume', 'team/other');
  });

  it('cancels what waits, tells its callers, and only when it is sure', async () => {
    await queues('pause', 'team/other');
    const ids = await Promise.all(Array.from({ length: 120 }, () => inBackground('team/other')));
    const waiting = service.caller.create({ model: 'team/other', input: 'Hi' });
    await eventually(async () => (await listed('team/other'))['waiting'] === 121);
    expect((await queues('drain', 'team/other')).output).toBe(
      '121 would be cancelled. Add --yes to do it.\n',
    );
    expect(await statusOf(ids[0] ?? '')).toBe('queued');
    expect((await queues('drain', 'team/other', '--yes')).output).toBe('Cancelled 121.\n');
    expect((await waiting).body.status).toBe('cancelled');
    expect(new Set(await Promise.all(ids.map(statusOf)))).toEqual(new Set(['cancelled']));
    expect(await listed('team/other')).toMatchObject({ waiting: 0, active: 0 });
    await queues('resume', 'team/other');
    expect((await service.caller.create({ model: 'team/other', input: 'Hi' })).body.status).toBe('completed');
  });

  it.each([
    [['pause', 'nope'], 1, /There is no queue 'nope' in the settings: there are simulator, team\/other\./],
    [['pause'], 2, /name a queue/],
    [['list', 'x'], 2, /'list' takes no queue/],
    [['fill', 'simulator'], 2, /there is no command 'fill'/],
    [['drain', 'simulator', 'x'], 2, /'x' is one argument too many/],
    [['list', '--nope'], 2, /--nope/],
  ])('says what is wrong with %j', async (args, code, message) => {
    expect(await queues(...args)).toEqual({ code, output: expect.stringMatching(message) });
  });
});
