import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hashKey, wellFormedKey } from './api-keys.ts';
import { ConfigError } from './config-error.ts';
import { developmentKey } from './development-key.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-key-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

describe('developmentKey', () => {
  it('makes a key once and finds it again', async () => {
    const dataDir = join(await folder(), 'not', 'there', 'yet');
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
    const dataDir = await folder();
    const keys = await Promise.all(Array.from({ length: 30 }, () => developmentKey(dataDir)));
    expect(new Set(keys.map(({ plain }) => plain)).size).toBe(1);
    expect(keys.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(await readdir(dataDir)).toEqual(['development-key']);
    expect(await readFile(join(dataDir, 'development-key'), 'utf8')).toBe(`${keys[0]?.plain}\n`);
  });

  it.skipIf(process.platform === 'win32')('keeps the file for its owner alone', async () => {
    const dataDir = await folder();
    const { path } = await developmentKey(dataDir);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await chmod(path, 0o644);
    await developmentKey(dataDir);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it.each(['', 'something else\n', `sk-sluice-dev-${'0'.repeat(37)}x`])(
    'refuses a file that holds %j',
    async (content) => {
      const dataDir = await folder();
      await writeFile(join(dataDir, 'development-key'), content);
      await expect(developmentKey(dataDir)).rejects.toThrow('holds no development key; remove it');
    },
  );

  it('says so when the folder cannot be used', async () => {
    const dataDir = join(await folder(), 'file');
    await writeFile(dataDir, '');
    await expect(developmentKey(dataDir)).rejects.toThrow(ConfigError);
  });
});
