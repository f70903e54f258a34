import type { WaitOptions } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { statusAt, untilKey } from './ask-every-api.ts';
import { callerOf } from './caller.ts';
import { testService } from './service.ts';

const service = testService(() => ({
  apis: 2,
  settings: {
    providers: [{ id: 'local', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 }],
    models: ['simulator', 'other'].map((id) => ({ id, routes: [{ provider: 'local' }] })),
  },
}));

const keys = (...args: string[]) => service.run('keys', ...args);

async function made(...args: string[]): Promise<{ id: string; key: string }> {
  const { code, output } = await keys(...args);
  expect({ code, output }).toMatchObject({ code: 0 });
  const [, key = ''] = /^ {2}(sk-sluice-\w+)$/m.exec(output) ?? [];
  const [, id = ''] = /Its id is (key_\w+)\./.exec(output) ?? [];
  return { id, key };
}

const everywhere = (key: string, is: 'taken' | 'refused', wait?: WaitOptions) =>
  untilKey(service, key, is, wait);

// A grace passes and a process starts beside the other tests, which have tenants of their own.
describe.concurrent('sluice keys', () => {
  it('makes a key that every api takes within five seconds, and refuses once it is revoked', async () => {
    const { id, key } = await made('create', '--tenant', 'team-a', '--models', 'simulator');
    await everywhere(key, 'taken');
    const caller = callerOf(service.apiUrls[1] ?? '', key);
    expect((await caller.create({ input: 'Hi' })).body.status).toBe('completed');
    expect((await caller.create({ model: 'other', input: 'Hi' })).status).toBe(403);
    expect(await keys('revoke', id)).toMatchObject({ code: 0 });
    await everywhere(key, 'refused');
    await everywhere(service.key, 'taken');
  });

  it('replaces a key, and both are taken until the grace is over', async () => {
    const old = await made('create', '--tenant', 'team-b');
    const next = await made('rotate', old.id, '--grace', '15s');
    await everywhere(next.key, 'taken');
    await everywhere(old.key, 'taken', { timeoutMs: 1 });
    await everywhere(old.key, 'refused');
    await everywhere(next.key, 'taken', { timeoutMs: 1 });
    const last = await made('rotate', next.id, '--grace', '0');
    await everywhere(next.key, 'refused');
    await everywhere(last.key, 'taken');
  });

  it('shares a tenant and its limits between the file and stored keys', async () => {
    const { key } = await made('create', '--tenant', 'tester');
    await everywhere(key, 'taken');
    const [first = '', second = ''] = service.apiUrls;
    const { id } = (await callerOf(first, service.key).create({ input: 'Hi' })).body;
    expect((await callerOf(second, key).get(id)).status).toBe(200);
    const limited = await made('create', '--tenant', 'team-c', '--requests-per-minute', '1');
    await everywhere(limited.key, 'taken');
    expect((await callerOf(first, limited.key).create({ input: 'Hi' })).status).toBe(200);
    expect((await callerOf(second, limited.key).create({ input: 'Hi' })).status).toBe(429);
  });

  it('lists every key, and is taken by an api that starts later', async () => {
    const { id, key } = await made('create', '--tenant', 'team-d', '--expires', '2099-01-01');
    const { output } = await keys('list');
    expect(output).toMatch(/^file:0 +tester +- +\* +- +- +active$/m);
    expect(output).toMatch(
      new RegExp(`^${id} +team-d +${key.slice(-4)} +\\* +\\S+ \\S+ +2099-01-01 00:00Z +active$`, 'm'),
    );
    expect(output).not.toContain(key);
    const api = await service.addApi();
    expect(await statusAt(api.url, key)).toBe(200);
  });

  it.each([
    [['revoke', 'file:0'], 1, /file:0 is keys\[0\] of .*, which cannot be changed here/],
    [['revoke', 'key_nope'], 1, /There is no key 'key_nope'/],
    [['create', '--tenant', 'x', '--weight', '0'], 2, /--weight: must be a number from 0.1 to 1000/],
    [['create', '--tenant', 'x', '--models', 'nope'], 2, /--models: "nope" is not the id of a model/],
    [['fill'], 2, /there is no command 'fill'/],
  ])('says what is wrong with %j', async (args, code, message) => {
    expect(await keys(...args)).toEqual({ code, output: expect.stringMatching(message) });
  });
});
