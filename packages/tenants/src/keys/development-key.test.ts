import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, hashKey, loadSettings } from '@sluice/config';
import { temporaryFolder } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { wellFormedKey } from './api-keys.ts';
import { developmentKey, findDevelopmentKey, keyOfKeylessService } from './development-key.ts';

describe('developmentKey', () => {
  it('makes a key once and finds it again', async () => {
    const dataDir = join(temporaryFolder(), 'not', 'there', 'yet');
    const first = await developmentKey(dataDir);
    const second = await developmentKey(dataDir);
    expect(first.isNew).toBe(true);
    expect(second).toEqual({ ...first, isNew: false });
    expect(wellFormedKey(first.plain)).toBe(true);
    expect(first.plain).toMatch(/^sk-sluice-dev-/);
    expect(first.settings).toMatchObject({
      name: 'development',
      hash: hashKey(first.plain),
      models: ['*'],
      limits: { requestsPerMinute: 600 },
    });
  });

  it('gives one key to all who ask at once, and leaves one file', async () => {
    const dataDir = temporaryFolder();
    const keys = await Promise.all(Array.from({ length: 30 }, () => developmentKey(dataDir)));
    expect(new Set(keys.map(({ plain }) => plain)).size).toBe(1);
    expect(keys.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(await readdir(dataDir)).toEqual(['development-key']);
    expect(await readFile(join(dataDir, 'development-key'), 'utf8')).toBe(`${keys[0]?.plain}\n`);
  });

  it.skipIf(process.platform === 'win32')('keeps the file for its owner alone', async () => {
    const dataDir = temporaryFolder();
    const { path } = await developmentKey(dataDir);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await chmod(path, 0o644);
    await developmentKey(dataDir);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it.each(['', 'something else\n', `sk-sluice-dev-${'0'.repeat(37)}x`])(
    'refuses a file that holds %j',
    async (content) => {
      const dataDir = temporaryFolder();
      await writeFile(join(dataDir, 'development-key'), content);
      await expect(developmentKey(dataDir)).rejects.toThrow('holds no development key; remove it');
    },
  );

  it('says so when the folder cannot be used', async () => {
    const dataDir = join(temporaryFolder(), 'file');
    await writeFile(dataDir, '');
    await expect(developmentKey(dataDir)).rejects.toThrow(ConfigError);
  });
});

/** A folder with a file of settings. */
async function withFile(text: string, name = 'sluice.yaml'): Promise<string> {
  const cwd = temporaryFolder();
  await writeFile(join(cwd, name), text);
  return cwd;
}

describe('findDevelopmentKey', () => {
  it.each([
    ['the default', '', {}, []],
    ['the file', 'dataDir: ./from-file', {}, []],
    ['the environment', 'dataDir: ./from-file', { DATA_DIR: './from-environment' }, []],
    ['a flag', 'dataDir: ./from-file', { DATA_DIR: './from-environment' }, ['--data-dir=./from-flag']],
    ['an empty variable', 'dataDir: ./from-file', { DATA_DIR: '' }, []],
    ['a reference', 'dataDir: ./${PLACE}', { PLACE: 'referred-to' }, []],
  ])('looks where the service keeps its key, told by %s', async (_origin, text, env, argv) => {
    const cwd = await withFile(text);
    const sources = { env, argv, cwd };
    const { plain } = await developmentKey(loadSettings(sources).dataDir);
    expect(await findDevelopmentKey(sources)).toBe(plain);
  });

  it('reads the file that the environment or a flag names', async () => {
    const cwd = await withFile('dataDir: ./there', 'other.yaml');
    const { plain } = await developmentKey(join(cwd, 'there'));
    expect(await findDevelopmentKey({ env: { SLUICE_CONFIG: 'other.yaml' }, argv: [], cwd })).toBe(plain);
    expect(await findDevelopmentKey({ env: {}, argv: ['--config', 'other.yaml'], cwd })).toBe(plain);
    expect(await findDevelopmentKey({ env: {}, argv: [], cwd })).toBeUndefined();
  });

  it('makes no key and no folder', async () => {
    const cwd = temporaryFolder();
    expect(await findDevelopmentKey({ env: {}, argv: [], cwd })).toBeUndefined();
    expect(await readdir(cwd)).toEqual([]);
  });

  it('finds none where the service has keys of its own, though one is left over', async () => {
    const cwd = await withFile('keys: [{ name: a, key: sk-of-a-tenant }]');
    await developmentKey(join(cwd, '.data'));
    expect(await findDevelopmentKey({ env: {}, argv: [], cwd })).toBeUndefined();
  });

  it('does without the secrets that only the service is given', async () => {
    const cwd = await withFile(
      'providers: [{ id: a, type: openai-chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: "${MISSING}" }]',
    );
    const { plain } = await developmentKey(join(cwd, '.data'));
    expect(await findDevelopmentKey({ env: {}, argv: [], cwd })).toBe(plain);
  });

  it.each([
    ['dataDir: [a]', /dataDir: does not name a folder.*sluice\.yaml:1/],
    ['dataDir: ${MISSING}', /dataDir: does not name a folder/],
    ['dataDir: "', /not valid YAML/],
  ])('says what is wrong with %j', async (text, message) => {
    const cwd = await withFile(text);
    const found = findDevelopmentKey({ env: {}, argv: [], cwd });
    await expect(found).rejects.toThrow(ConfigError);
    await expect(found).rejects.toThrow(message);
  });

  it('says so when the key is damaged or cannot be read', async () => {
    const cwd = temporaryFolder();
    const sources = { env: {}, argv: [], cwd };
    await mkdir(join(cwd, '.data'));
    await writeFile(join(cwd, '.data', 'development-key'), 'sk-sluice-dev-');
    await expect(findDevelopmentKey(sources)).rejects.toThrow('holds no development key');
    await rm(join(cwd, '.data', 'development-key'));
    await mkdir(join(cwd, '.data', 'development-key'));
    await expect(findDevelopmentKey(sources)).rejects.toThrow('cannot be read (EISDIR)');
  });
});

const listeningOn = (host: string, dataDir: string) =>
  loadSettings({ env: { HOST: host, DATA_DIR: dataDir }, argv: [], cwd: '/', readFile: () => '' });

describe('a service without any key', () => {
  it('takes its development key on loopback', async () => {
    const dataDir = temporaryFolder();
    const { name, hash } = await keyOfKeylessService(listeningOn('127.0.0.1', dataDir));
    const plain = (await readFile(join(dataDir, 'development-key'), 'utf8')).trim();
    expect({ name, hash }).toEqual({ name: 'development', hash: hashKey(plain) });
  });

  it.each(['0.0.0.0', '::', 'example.com'])('may not run on %s, and makes no key there', async (host) => {
    const dataDir = temporaryFolder();
    await expect(keyOfKeylessService(listeningOn(host, dataDir))).rejects.toThrow(
      'HOST: is not a loopback address and there is no key; add `keys` to the file, make one with `sluice keys create`',
    );
    await expect(readFile(join(dataDir, 'development-key'))).rejects.toThrow('ENOENT');
  });
});
