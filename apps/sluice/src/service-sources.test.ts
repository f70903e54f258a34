import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { developmentKey, findDevelopmentKey } from '@sluice/tenants';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadWithRedis } from './load-with-redis.ts';
import { noteRunningService } from './running-service.ts';
import { loadServiceSettings, serviceSources, type ServiceValues } from './service-sources.ts';

const store = 'redis://127.0.0.1:1';
const found = (id: string, more = '') =>
  `providers: [{ id: p, type: simulator }]\nmodels: [{ id: ${id}, routes: [{ provider: p }] }]\n${more}`;
let cwd: string;
let settingsFile: string;
let errors: string[];

/** A service runs on a file that no command names. */
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'sluice-sources-'));
  settingsFile = join(cwd, 'elsewhere', 'discovered.yaml');
  await mkdir(join(cwd, 'elsewhere'));
  await writeFile(settingsFile, found('theirs', 'dataDir: beside-the-service'));
  noteRunningService(join(cwd, '.data'), { store, url: '', adminUrl: '', settingsFile });
  errors = [];
  vi.spyOn(console, 'error').mockImplementation((line: string) => void errors.push(line));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(cwd, { recursive: true, force: true });
});

function load(values: ServiceValues = {}, env: Record<string, string> = {}) {
  const { models, dataDir } = loadServiceSettings(values, { env, cwd });
  return { models: models.map(({ id }) => id).join(), dataDir };
}

describe('the settings of the service that a command is for', () => {
  it('are those of the service that runs with the data folder, which is said', () => {
    const dataDir = join(cwd, '.data');
    expect(load()).toEqual({ models: 'theirs', dataDir });
    expect(errors).toEqual([
      `sluice: using ${settingsFile}, the settings file of the service that runs with ${dataDir}`,
    ]);
    expect(load({ 'data-dir': '.data' })).toEqual({ models: 'theirs', dataDir });
    expect(load({}, { DATA_DIR: '.data', REDIS_URL: store })).toEqual({ models: 'theirs', dataDir });
  });

  it('are those of a file that is named or found', async () => {
    await writeFile(join(cwd, 'own.yaml'), found('own'));
    expect(load({ config: 'own.yaml' }).models).toBe('own');
    expect(load({}, { SLUICE_CONFIG: 'own.yaml' }).models).toBe('own');
    await writeFile(join(cwd, 'sluice.yaml'), found('found'));
    expect(load().models).toBe('found');
    expect(errors).toEqual([]);
  });

  it.each([
    ['another data folder', { 'data-dir': 'other' }, {}],
    ['another Redis', {}, { REDIS_URL: 'redis://127.0.0.1:2' }],
  ])('are the defaults for %s', (_, values, env) => {
    expect(load(values, env).models).toBe('simulator,simulator-reasoning');
    expect(errors).toEqual([]);
  });

  it.each([
    ['has ended', { pid: spawnSync(process.execPath, ['--version']).pid }],
    ['was started without a file', { settingsFile: undefined }],
  ])('are the defaults beside a service that %s', async (_, more) => {
    const file = join(cwd, '.data', 'running-service.json');
    const note = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...note, ...more }));
    expect(load().models).toBe('simulator,simulator-reasoning');
  });

  it('need no variables of secrets, but for those that are wanted', async () => {
    const more = 'redisUrl: "${STORE}"\nencryptionKeys: ["${SEAL}"]\nusage: { databaseUrl: "${USAGE}" }';
    await writeFile(settingsFile, found('theirs', more));
    expect(load().models).toBe('theirs');
    expect(loadWithRedis({}, { env: {}, cwd }).redisUrl).toBe(store);
    const wanting = (neededSecrets: string[] | 'all') => () =>
      loadServiceSettings({}, { env: {}, cwd }, { neededSecrets });
    const lacks = (what: string) => `${what}, which is not set; .*discovered\\.yaml:`;
    const usage = lacks('usage.databaseUrl: reads the environment variable USAGE');
    expect(wanting(['usage.databaseUrl'])).toThrow(new RegExp(`^bad configuration: ${usage}5\\)$`));
    expect(wanting('all')).toThrow(/STORE.*\n.*SEAL.*\n.*USAGE/);
    // A file that is named is one of this command.
    expect(() => load({ config: settingsFile })).toThrow(/STORE/);
  });

  it('name the file when this environment lacks what it reads beside secrets', async () => {
    await writeFile(settingsFile, found('theirs', 'keyPrefix: "${OF_THE_SERVICE}"'));
    expect(() => load()).toThrow(
      /keyPrefix: reads the environment variable OF_THE_SERVICE, which is not set; .*discovered\.yaml:3/,
    );
  });
});

it('takes no development key for a service whose file has keys, and needs no variable of it', async () => {
  await developmentKey(join(cwd, '.data'));
  const key = () => findDevelopmentKey(serviceSources({}, { env: {}, cwd }));
  expect(await key()).toMatch(/^sk-sluice-dev-/);
  await writeFile(settingsFile, found('theirs', 'keys: [{ name: a, key: "${OF_THE_SERVICE}" }]'));
  expect(await key()).toBeUndefined();
});
