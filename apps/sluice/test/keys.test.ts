import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashKey } from '@sluice/config';
import { developmentKey } from '@sluice/tenants';
import { startRedisProxy, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runKeys } from '../src/keys/keys-command.ts';
import { noteRunningService } from '../src/running-service.ts';

let redis: TestRedis;
let cwd: string;
let lines: string[];
let errors: string[];

beforeEach(async () => {
  redis = await testRedis();
  cwd = await mkdtemp(join(tmpdir(), 'sluice-keys-'));
  await save({ keys: [{ name: 'team', key: 'sk-file-0123456789', limits: { queued: 5 } }] });
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, 'error').mockImplementation((line: string) => void errors.push(line));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await redis.close();
  await rm(cwd, { recursive: true, force: true });
});

const save = (settings: object) =>
  writeFile(join(cwd, 'sluice.yaml'), JSON.stringify({ keyPrefix: `${redis.prefix}:`, ...settings }));

/** Runs `sluice keys` with these arguments; resolves with what it printed. */
async function keys(...args: string[]): Promise<string> {
  lines = [];
  errors = [];
  await runKeys(args, { env: { REDIS_URL: redis.url }, cwd });
  return lines.join('\n');
}

const failure = (...args: string[]) =>
  keys(...args).then(
    () => expect.unreachable('it did not fail'),
    (error: unknown) => error,
  );

interface Created {
  id: string;
  key: string;
}
const create = async (...args: string[]) => JSON.parse(await keys('create', '--json', ...args)) as Created;
const rotate = async (...args: string[]) => JSON.parse(await keys('rotate', '--json', ...args)) as Created;

const hash = () => `${redis.prefix}:{0}:api-keys`;
async function stored(id: string): Promise<Record<string, unknown>> {
  return JSON.parse((await redis.client.hget(hash(), id)) ?? 'null') as Record<string, unknown>;
}
async function listed(): Promise<Record<string, unknown>[]> {
  const out = await keys('list', '--json');
  return out.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
}
const listedAs = async (id: string) => (await listed()).find((key) => key['id'] === id) ?? {};

describe('sluice keys create', () => {
  it('prints the key once, and stores its hash alone', async () => {
    const out = await keys('create', '--tenant', 'new');
    const [, plain = ''] = /^ {2}(sk-sluice-\w+)$/m.exec(out) ?? [];
    const [, id = ''] = /Its id is (key_\w+)\./.exec(out) ?? [];
    expect(await stored(id)).toEqual({
      name: 'new',
      models: ['*'],
      tiers: ['default', 'flex'],
      limits: {},
      hash: `sha256:${hashKey(plain)}`,
      last4: plain.slice(-4),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    for (const text of Object.values(await redis.client.hgetall(hash()))) expect(text).not.toContain(plain);
    expect(await keys('list')).not.toContain(plain);
    expect(await redis.client.pttl(hash())).toBe(-1);
  });

  it('stores what its flags say', async () => {
    const { id } = await create(
      ...['--tenant', 'new', '--models', 'simulator, simulator-reasoning', '--tiers', 'default,priority'],
      ...['--weight', '2.5', '--requests-per-minute', '1', '--tokens-per-minute', '2', '--concurrent', '3'],
      ...['--queued', '4', '--reads-per-minute', '5', '--expires', '2099-01-31'],
    );
    expect(await stored(id)).toMatchObject({
      models: ['simulator', 'simulator-reasoning'],
      tiers: ['default', 'priority'],
      weight: 2.5,
      limits: { requestsPerMinute: 1, tokensPerMinute: 2, concurrent: 3, queued: 4, readsPerMinute: 5 },
      expiresAt: '2099-01-31T00:00:00.000Z',
    });
  });

  it.each([
    [[], '--tenant: is missing'],
    [['--tenant', 'a b'], '--tenant: must be 1 to 64 letters'],
    [
      ['--tenant', 'a', '--models', 'simulatr'],
      '--models: "simulatr" is not the id of a model of the settings file; did you mean',
    ],
    [['--tenant', 'a', '--tiers', 'gold'], '--tiers: must be one of default, flex, priority'],
    [['--tenant', 'a', '--weight', '0'], '--weight: must be a number from 0.1 to 1000'],
    [['--tenant', 'a', '--weight', 'much'], '--weight: must be a number from 0.1 to 1000'],
    [['--tenant', 'a', '--requests-per-minute', '1.5'], '--requests-per-minute: must be a whole number'],
    [['--tenant', 'a', '--concurrent=-1'], '--concurrent: must be a whole number'],
    [['--tenant', 'a', '--expires', 'soon'], '--expires: must be a date'],
    [['--tenant', 'a', '--expires', '2020-01-01'], '--expires: is over; give a later one'],
    [
      ['--tenant', 'team', '--queued', '6'],
      '--queued: differs from the settings file, which says 5 for "team"',
    ],
    [['--tenant', 'a', 'more'], "'create' takes flags only"],
    [['--tenant', 'a', '--nope', '1'], '--nope'],
  ])('refuses %j and stores nothing', async (args, message) => {
    expect(await failure('create', ...args)).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(message),
    });
    expect(await redis.client.exists(hash())).toBe(0);
  });

  it('names every flag that is wrong', async () => {
    const refused = await failure('create', '--tenant', 'a', '--weight', 'x', '--queued', '0');
    expect(refused).toMatchObject({
      message: expect.stringMatching(/^2 problems:\n {2}--weight: .*\n {2}--queued: /),
    });
  });

  it('refuses what contradicts another stored key, until that is revoked', async () => {
    const { id } = await create('--tenant', 'new', '--queued', '1');
    expect(await failure('create', '--tenant', 'new', '--queued', '2')).toMatchObject({
      message: expect.stringContaining(`--queued: differs from ${id}, which says 1`),
    });
    await keys('revoke', id);
    await create('--tenant', 'new', '--queued', '2');
  });

  it('keeps what two operators make at once', async () => {
    lines = [];
    const place = { env: { REDIS_URL: redis.url }, cwd };
    await Promise.all(
      Array.from({ length: 8 }, (_, at) => runKeys(['create', '--tenant', `t${at}`, '--json'], place)),
    );
    const made = lines.map((line) => (JSON.parse(line) as Created).id);
    expect(new Set(made).size).toBe(8);
    expect((await listed()).map((key) => key['id'])).toEqual(expect.arrayContaining(made));
  });

  it('lets two operators at once not contradict each other', async () => {
    const place = { env: { REDIS_URL: redis.url }, cwd };
    const both = await Promise.allSettled(
      ['1', '2'].map((queued) => runKeys(['create', '--tenant', 'new', '--queued', queued], place)),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect((await listed()).filter(({ tenant }) => tenant === 'new')).toHaveLength(1);
  });

  it('makes one key when the reply of Redis is lost', async () => {
    const proxy = await startRedisProxy(redis.url);
    try {
      proxy.loseReplyTo('key_');
      lines = [];
      await runKeys(['create', '--tenant', 'new', '--json'], { env: { REDIS_URL: proxy.url }, cwd });
      expect(proxy.lost).toBe(1);
      const { id } = JSON.parse(lines.join('')) as Created;
      expect((await listed()).filter(({ tenant }) => tenant === 'new')).toMatchObject([{ id }]);
    } finally {
      await proxy.stop();
    }
  });
});

describe('sluice keys list', () => {
  it('shows the keys of the file and the stored ones, with their state', async () => {
    const active = await create('--tenant', 'one', '--models', 'simulator');
    const revoked = await create('--tenant', 'one');
    await keys('revoke', revoked.id);
    const out = await keys('list');
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^id +tenant +last 4 +models +created +expires +state$/),
      expect.stringMatching(/^file:0 +team +- +\* +- +- +active$/),
      expect.stringMatching(
        new RegExp(
          `^${active.id} +one +${active.key.slice(-4)} +simulator +20\\d\\d-\\d\\d-\\d\\d \\d\\d:\\d\\dZ +- +active$`,
        ),
      ),
      expect.stringMatching(new RegExp(`^${revoked.id} .* revoked$`)),
    ]);
    expect(await listedAs('file:0')).toMatchObject({ source: 'file', last_4: null, limits: { queued: 5 } });
    expect(await listedAs(active.id)).toMatchObject({ source: 'stored', tenant: 'one', state: 'active' });
  });

  it('names what cannot be read, and what contradicts a file that has changed', async () => {
    const { id } = await create('--tenant', 'team', '--queued', '5');
    await redis.client.hset(hash(), 'key_junk', 'no JSON', 'version', 'other');
    await save({ keys: [{ name: 'team', key: 'sk-file-0123456789', limits: { queued: 9 } }] });
    expect(await listedAs(id)).toMatchObject({ state: 'active', limits: { queued: 9 } });
    expect(errors).toEqual([
      'sluice: "key_junk" cannot be read and is refused: is not JSON',
      `sluice: ${id}: limits.queued differs from the settings file, which says 9 for "team"; give both one value`,
    ]);
  });
});

describe('sluice keys revoke', () => {
  it('revokes a key once, and leaves the time as it is when it is asked again', async () => {
    const { id } = await create('--tenant', 'new');
    expect(await keys('revoke', id)).toMatch(/^Revoked key_\w+ of 'new' at /);
    const { revokedAt } = await stored(id);
    await keys('revoke', id);
    expect((await stored(id))['revokedAt']).toBe(revokedAt);
  });

  it.each([
    [
      ['file:0'],
      1,
      /file:0 is keys\[0\] of .*sluice\.yaml, which cannot be changed here: in the file, remove it, give it `disabled: true`/,
    ],
    [['key_nope'], 1, /There is no key 'key_nope': 'sluice keys list' shows the ids\./],
    [['key_junk'], 1, /key_junk cannot be read, so every api refuses it already/],
    [[], 2, /'revoke' needs the id of a key/],
    [['a', 'b'], 2, /'revoke' takes one id/],
  ])('of %j fails', async (args, exitCode, message) => {
    await redis.client.hset(hash(), 'key_junk', 'no JSON');
    expect(await failure('revoke', ...args)).toMatchObject({
      exitCode,
      message: expect.stringMatching(message),
    });
  });

  it('does not repeat a key that was given in place of its id', async () => {
    expect(await failure('revoke', 'sk-sluice-secret')).toMatchObject({
      message: "There is no key of that id: 'sluice keys list' shows the ids.",
    });
  });
});

describe('the development key', () => {
  const stillTaken = expect.stringContaining("'sluice keys revoke development' ends it");

  it('is listed beside stored keys, and `create` says that it is still taken, until it is revoked', async () => {
    await save({});
    const { plain } = await developmentKey(join(cwd, '.data'));
    const { id } = await create('--tenant', 'new');
    expect(errors).toEqual([stillTaken]);
    expect(await listed()).toEqual([
      expect.objectContaining({ id: 'key_development', source: 'development', state: 'active' }),
      expect.objectContaining({ id, tenant: 'new' }),
    ]);
    const revoked = JSON.parse(await keys('revoke', 'development', '--json')) as Record<string, unknown>;
    expect(revoked).toEqual({
      id: 'key_development',
      tenant: 'development',
      revoked_at: expect.stringContaining('T'),
    });
    await keys('revoke', 'key_development');
    expect(await listed()).toContainEqual(
      expect.objectContaining({
        id: 'key_development',
        source: 'stored',
        state: 'revoked',
        ...{ revoked_at: revoked['revoked_at'] },
      }),
    );
    await create('--tenant', 'other');
    expect(errors).toEqual([]);
    expect(JSON.stringify(await redis.client.hgetall(hash()))).not.toContain(hashKey(plain));
  });

  it.each([
    ['its file has keys', { keys: [{ name: 'team', key: 'sk-file-0123456789' }] }],
    ['it listens beyond loopback', { server: { host: '0.0.0.0' } }],
  ])('is not spoken of where a service takes none because %s', async (_why, settings) => {
    await save(settings);
    await developmentKey(join(cwd, '.data'));
    await create('--tenant', 'new');
    expect(errors).toEqual([]);
    expect(await keys('list')).not.toContain('development');
  });
});

describe('sluice keys rotate', () => {
  it('makes a key with the same settings, and the old one expires after the grace', async () => {
    const more = ['--key-spend-per-day', '5', '--expires', '2099-01-01'];
    const old = await create('--tenant', 'new', '--weight', '2', '--queued', '3', ...more);
    const next = await rotate(old.id, '--grace', '2h');
    const { hash: _hash, last4, createdAt, ...rules } = await stored(next.id);
    expect(rules).toEqual({
      name: 'new',
      models: ['*'],
      tiers: ['default', 'flex'],
      weight: 2,
      limits: { queued: 3 },
      budget: { spendPerDay: 5 },
      expiresAt: '2099-01-01T00:00:00.000Z',
    });
    expect(last4).toBe(next.key.slice(-4));
    const expiresAt = new Date(Date.parse(String(createdAt)) + 2 * 3_600_000).toISOString();
    expect(await stored(old.id)).toMatchObject({ expiresAt, replacedBy: next.id });
  });

  it('leaves the old key a day unless it is told otherwise, and says so', async () => {
    const { id } = await create('--tenant', 'new');
    const out = await keys('rotate', id);
    const { expiresAt } = await stored(id);
    expect(out).toContain(`The old key ${id} is taken until ${String(expiresAt)}.`);
    const { createdAt } = await stored(/Its id is (key_\w+)/.exec(out)?.[1] ?? '');
    expect(Date.parse(String(expiresAt)) - Date.parse(String(createdAt))).toBe(24 * 3_600_000);
  });

  it('revokes the old key at once without a grace', async () => {
    const old = await create('--tenant', 'new');
    await rotate(old.id, '--grace', '0');
    expect(await listedAs(old.id)).toMatchObject({ state: 'revoked' });
  });

  it('does not prolong a key that expires sooner', async () => {
    const soon = new Date(Date.now() + 60_000).toISOString();
    const { id } = await create('--tenant', 'new', '--expires', soon);
    await rotate(id);
    expect((await stored(id))['expiresAt']).toBe(soon);
  });

  it('leaves to the file what the file says of the tenant', async () => {
    const { id } = await create('--tenant', 'team', '--queued', '5', '--concurrent', '2');
    await save({ keys: [{ name: 'team', key: 'sk-file-0123456789', limits: { queued: 9 } }] });
    const next = await rotate(id);
    expect(await stored(next.id)).toMatchObject({ limits: { concurrent: 2 } });
    expect(await stored(next.id)).not.toHaveProperty('limits.queued');
  });

  it('lets one of two operators rotate a key', async () => {
    const { id } = await create('--tenant', 'new');
    const place = { env: { REDIS_URL: redis.url }, cwd };
    const both = await Promise.allSettled([1, 2].map(() => runKeys(['rotate', id], place)));
    const refused = both.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
    const successor = String((await stored(id))['replacedBy']);
    expect(refused).toEqual([expect.stringContaining(`rotate its successor ${successor}`)]);
    expect((await listed()).filter(({ tenant }) => tenant === 'new')).toHaveLength(2);
  });

  it.each(['24', '1w', '-1h', '366d', ''])('refuses a grace of %j', async (grace) => {
    expect(await failure('rotate', 'key_1', `--grace=${grace}`)).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('--grace: must be a time such as 30m, 24h or 7d'),
    });
  });

  it('refuses a key that is revoked', async () => {
    const { id } = await create('--tenant', 'new');
    await keys('revoke', id);
    expect(await failure('rotate', id)).toMatchObject({
      message: `${id} is revoked, so there is nothing to rotate: create a new key.`,
    });
  });
});

describe('sluice keys limit', () => {
  it('changes what all stored keys of a tenant say, and nothing else of them', async () => {
    const first = await create('--tenant', 'new', '--concurrent', '4', '--weight', '2');
    const second = await create('--tenant', 'new', '--models', 'simulator', '--queued', '9');
    const gone = await create('--tenant', 'new');
    await keys('revoke', gone.id);
    const other = await create('--tenant', 'other', '--concurrent', '4');
    const [before, untouched] = [await stored(second.id), [await stored(gone.id), await stored(other.id)]];
    expect(await keys('limit', 'new', '--concurrent', '8', '--weight', '3')).toBe(
      "Changed in 2 stored keys of 'new'. Every api follows within five seconds; 'sluice tenants' shows it.",
    );
    expect(await stored(first.id)).toMatchObject({ weight: 3, limits: { concurrent: 8 } });
    expect(await stored(second.id)).toEqual({ ...before, weight: 3, limits: { concurrent: 8, queued: 9 } });
    expect([await stored(gone.id), await stored(other.id)]).toEqual(untouched);
    // Nothing contradicts anything.
    await keys('list');
    expect(errors).toEqual([]);
  });

  it('takes away what is to be none, and counts what it changed', async () => {
    const { id } = await create('--tenant', 'new', '--concurrent', '4', '--weight', '2', '--queued', '9');
    const none = ['limit', 'new', '--concurrent', 'none', '--weight', 'none'];
    expect(JSON.parse(await keys(...none, '--json'))).toEqual({ tenant: 'new', keys: 1 });
    expect(await stored(id)).toMatchObject({ limits: { queued: 9 } });
    expect(await stored(id)).not.toHaveProperty('weight');
    expect(await stored(id)).not.toHaveProperty('limits.concurrent');
    expect(await keys(...none)).toBe("Every stored key of 'new' says so already.");
  });

  it('names every flag that is wrong, and changes nothing then', async () => {
    const { id } = await create('--tenant', 'new', '--concurrent', '4');
    const before = await stored(id);
    expect(
      await failure('limit', 'new', '--concurrent', '0', '--queued', 'many', '--weight=-1'),
    ).toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/--weight: .*\n.*--concurrent: .*\n.*--queued: /),
    });
    expect(await stored(id)).toEqual(before);
    expect(await failure('limit', 'new')).toMatchObject({ exitCode: 2 });
    expect(await failure('limit', '--queued', '4')).toMatchObject({ exitCode: 2 });
    expect(await failure('limit', 'new', 'other', '--queued', '4')).toMatchObject({ exitCode: 2 });
    expect(await failure('limit', 'new', '--models', 'a')).toMatchObject({ exitCode: 2 });
  });

  it('leaves to the file what the file says', async () => {
    await create('--tenant', 'team');
    for (const value of ['5', '6', 'none']) {
      expect(await failure('limit', 'team', '--queued', value)).toMatchObject({
        message: expect.stringContaining('--queued: is said by the settings file; change it there'),
      });
    }
    expect(await keys('limit', 'team', '--concurrent', '2')).toContain('Changed in the stored key');
  });

  it('says where the keys are of a tenant that has no stored one', async () => {
    expect(await failure('limit', 'team', '--concurrent', '2')).toMatchObject({
      message: expect.stringMatching(/Every key of 'team' is in .*sluice\.yaml/),
    });
    expect(await failure('limit', 'nobody', '--concurrent', '2')).toMatchObject({
      message: expect.stringContaining("There is no stored key of a tenant 'nobody'"),
    });
  });

  it('lets two operators at once both have their change', async () => {
    const { id } = await create('--tenant', 'new');
    const place = { env: { REDIS_URL: redis.url }, cwd };
    await Promise.all([
      runKeys(['limit', 'new', '--concurrent', '2'], place),
      runKeys(['limit', 'new', '--queued', '7'], place),
    ]);
    expect(await stored(id)).toMatchObject({ limits: { concurrent: 2, queued: 7 } });
  });
});

describe('sluice keys', () => {
  it.each([[[]], [['make']]])('with %j makes a key for the file, and stores nothing', async (args) => {
    const out = await keys(...args);
    const [, plain = ''] = /^ {2}(sk-sluice-\w+)$/m.exec(out) ?? [];
    expect(out).toContain(`hash: sha256:${hashKey(plain)}`);
    expect(await redis.client.exists(hash())).toBe(0);
  });

  it('says so when something else is stored in the place of the keys', async () => {
    await redis.client.set(hash(), 'text');
    expect(await failure('list')).toMatchObject({ message: expect.stringContaining('WRONGTYPE') });
  });

  it('says when Redis has not made a change as safe as the settings ask for, each time', async () => {
    await save({ durability: 'replica', timeouts: { durabilityMs: 10 } });
    const unsafe = {
      exitCode: 1,
      message: expect.stringContaining('not yet as safe as `durability` asks for'),
    };
    expect(await failure('create', '--tenant', 'new', '--json')).toMatchObject(unsafe);
    const { id, key } = JSON.parse(lines.join('')) as Created;
    expect(key).toMatch(/^sk-sluice-/);
    expect(await failure('revoke', id)).toMatchObject(unsafe);
    expect(await failure('revoke', id)).toMatchObject(unsafe);
  });

  it('needs to know the Redis of the service', async () => {
    await expect(runKeys(['list'], { env: {}, cwd })).rejects.toThrow(
      /REDIS_URL is not set, and no service runs with .*\.data: start one with 'sluice start'/,
    );
  });

  it('finds the Redis of the service that runs with the data folder, and says so', async () => {
    const { id } = await create('--tenant', 'new');
    const store = redis.url.replace('redis://', 'redis://:secret@');
    const note = noteRunningService(join(cwd, '.data'), { store: redis.url, url: '', adminUrl: '' });
    [lines, errors] = [[], []];
    await runKeys(['list', '--json'], { env: {}, cwd });
    expect(lines.join('')).toContain(id);
    expect(errors).toEqual([
      `sluice: using ${redis.url}, the store of the service that runs with ${join(cwd, '.data')} (process ${process.pid})`,
    ]);
    note.remove();
    // A password that nobody needs to see.
    noteRunningService(join(cwd, 'other'), { store, url: '', adminUrl: '' });
    errors = [];
    await runKeys(['list', '--data-dir', 'other'], { env: {}, cwd }).catch(() => undefined);
    expect(errors.join('')).toContain('using redis://');
    expect(errors.join('')).not.toContain('secret');
  });

  it('allows the models of the file that the service runs on, and writes under its prefix', async () => {
    const settingsFile = join(cwd, 'discovered.yaml');
    const found = {
      providers: [{ id: 'ollama', type: 'simulator' }],
      models: [{ id: 'qwen3', routes: [{ provider: 'ollama' }] }],
    };
    await writeFile(settingsFile, JSON.stringify({ keyPrefix: `${redis.prefix}:`, ...found }));
    await rm(join(cwd, 'sluice.yaml'));
    noteRunningService(join(cwd, '.data'), { store: redis.url, url: '', adminUrl: '', settingsFile });
    [lines, errors] = [[], []];
    await runKeys(['create', '--tenant', 'new', '--models', 'qwen3', '--json'], { env: {}, cwd });
    const { id } = JSON.parse(lines.join('')) as Created;
    expect(await stored(id)).toMatchObject({ models: ['qwen3'] });
    expect(errors[0]).toContain(`using ${settingsFile}, the settings file of the service`);
  });

  it('says that the service has ended which left its note', async () => {
    const { pid } = spawnSync(process.execPath, ['--version']);
    const note = { pid, store: redis.url, url: '', adminUrl: '' };
    await mkdir(join(cwd, '.data'));
    await writeFile(join(cwd, '.data', 'running-service.json'), JSON.stringify(note));
    await expect(runKeys(['list'], { env: {}, cwd })).rejects.toThrow(
      `(process ${pid}) has ended: start it again, or name its Redis in REDIS_URL.`,
    );
  });
});
