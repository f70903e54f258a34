import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConfigError } from './config-error.ts';
import { developmentKey } from './development-key.ts';
import { findDevelopmentKey } from './find-development-key.ts';
import { loadSettings } from './load-settings.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-find-key-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

/** A folder with a file of settings. */
async function withFile(text: string, name = 'sluice.yaml'): Promise<string> {
  const cwd = await folder();
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
    const cwd = await folder();
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
    const cwd = await folder();
    const sources = { env: {}, argv: [], cwd };
    await mkdir(join(cwd, '.data'));
    await writeFile(join(cwd, '.data', 'development-key'), 'sk-sluice-dev-');
    await expect(findDevelopmentKey(sources)).rejects.toThrow('holds no development key');
    await rm(join(cwd, '.data', 'development-key'));
    await mkdir(join(cwd, '.data', 'development-key'));
    await expect(findDevelopmentKey(sources)).rejects.toThrow('cannot be read (EISDIR)');
  });
});
