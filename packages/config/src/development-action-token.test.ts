import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { developmentActionToken } from './development-action-token.ts';
import { loadSettings } from './load-settings.ts';

const settingsOf = (dataDir: string, env: Record<string, string> = {}) =>
  loadSettings({ env: { DATA_DIR: dataDir, ...env }, argv: [], cwd: '/', readFile: () => '' });

describe('developmentActionToken', () => {
  it('makes a token once, finds it again, and keeps it for its owner alone', async () => {
    const dataDir = join(temporaryFolder(), 'not', 'there', 'yet');
    const tokens = await Promise.all(
      Array.from({ length: 10 }, () => developmentActionToken(settingsOf(dataDir))),
    );
    expect(new Set(tokens).size).toBe(1);
    expect(tokens[0]).toMatch(/^act-sluice-dev-[\w-]{32}$/);
    expect(await readdir(dataDir)).toEqual(['development-action-token']);
    const { mode } = await stat(join(dataDir, 'development-action-token'));
    if (process.platform !== 'win32') expect(mode & 0o777).toBe(0o600);
  });

  it.each([
    ['there is one', { ADMIN_ACTION_TOKEN: 'configured-token' }],
    ['the listener is not on loopback', { ADMIN_HOST: '0.0.0.0', ADMIN_TOKEN: 'configured-token' }],
  ])('makes none where %s', async (_where, env) => {
    const dataDir = temporaryFolder();
    expect(await developmentActionToken(settingsOf(dataDir, env))).toBeUndefined();
    expect(await readdir(dataDir)).toEqual([]);
  });

  it.each(['', 'something else\n', 'act-sluice-dev-short'])(
    'refuses a file that holds %j',
    async (content) => {
      const dataDir = temporaryFolder();
      await writeFile(join(dataDir, 'development-action-token'), content);
      await expect(developmentActionToken(settingsOf(dataDir))).rejects.toThrow(
        'holds no development action token; remove it',
      );
    },
  );
});
