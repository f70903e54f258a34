import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { forAllTests, startLocalRedis } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { hasPagePrograms, openPageShell, pageBlocks } from './operating-page.ts';
import { testService } from './service.ts';

const adminToken = 'admin-0123456789abcdef';

describe.skipIf(!hasPagePrograms)('the commands of docs/operating.md (need Redis on the PATH)', () => {
  const redis = forAllTests(() => startLocalRedis({ kind: 'server' }));
  const shell = forAllTests(openPageShell);
  const service = testService(() => ({ redisUrl: redis.url, settings: { server: { adminToken } } }));

  it('that compare say what there is', async () => {
    const output = await shell.run('Compare with yours', {
      SLUICE_CONFIG: service.file,
      REDIS_URL: redis.url,
      ADMIN_TOKEN: adminToken,
      ADMIN_URL: service.adminUrls[0] ?? '',
    });
    expect(output).toMatch(/used_memory_human:\d/);
    expect(output).toMatch(/^simulator /m);
    expect(output).toContain('"needed_workers":');
  });

  it('that make secrets make long ones, and a key with its hash', async () => {
    const [token = '', secret = '', ...key] = (await shell.run('Make secrets', {})).split('\n');
    expect(token).toMatch(/^[0-9a-f]{48}$/);
    expect(Buffer.from(secret, 'base64')).toHaveLength(32);
    expect(key.join('\n')).toMatch(/sha256:[0-9a-f]{64}/);
  });
});

it('every block of commands of docs/operating.md is run by a test', () => {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const tests = readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(`${folder}${name}`, 'utf8'));
  const isRun = (heading: string) => tests.some((test) => test.includes(`shell.run('${heading}'`));
  expect(pageBlocks.length).toBeGreaterThan(8);
  expect(pageBlocks.filter(({ heading }) => !isRun(heading))).toEqual([]);
});
