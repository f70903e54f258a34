import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashKey } from './api-keys.ts';
import { keyOfKeylessService } from './keyless-service.ts';
import { loadSettings } from './load-settings.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sluice-keyless-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const listeningOn = (host: string) =>
  loadSettings({ env: { HOST: host, DATA_DIR: dataDir }, argv: [], cwd: '/', readFile: () => '' });

describe('a service without any key', () => {
  it('takes its development key on loopback', async () => {
    const { name, hash } = await keyOfKeylessService(listeningOn('127.0.0.1'));
    const plain = (await readFile(join(dataDir, 'development-key'), 'utf8')).trim();
    expect({ name, hash }).toEqual({ name: 'development', hash: hashKey(plain) });
  });

  it.each(['0.0.0.0', '::', 'example.com'])('may not run on %s, and makes no key there', async (host) => {
    await expect(keyOfKeylessService(listeningOn(host))).rejects.toThrow(
      'HOST: is not a loopback address and there is no key; add `keys` to the file, make one with `sluice keys create`',
    );
    await expect(readFile(join(dataDir, 'development-key'))).rejects.toThrow('ENOENT');
  });
});
