import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@sluice/testing';
import { expect, it } from 'vitest';
import { findService } from './find-service.ts';

async function withFile(text: string): Promise<string> {
  const cwd = temporaryFolder();
  await writeFile(join(cwd, 'sluice.yaml'), text);
  return cwd;
}

it.each([
  ['', {}, 'http://127.0.0.1:3000'],
  ['server: { port: 4000 }', {}, 'http://127.0.0.1:4000'],
  ['server: { port: 4000 }', { PORT: '5000' }, 'http://127.0.0.1:5000'],
  ['server: { host: "::1" }', {}, 'http://[::1]:3000'],
  ['server: { host: 0.0.0.0, port: "${OWN}" }', { OWN: '6000' }, 'http://127.0.0.1:6000'],
  ['server: { port: many }', { PORT: '0' }, 'http://127.0.0.1:3000'],
])('finds where an api of %j listens with %j', async (text, env, url) => {
  const adminUrl = 'http://127.0.0.1:3001';
  expect(findService({ env, argv: [], cwd: await withFile(text) })).toMatchObject({ url, adminUrl });
});

it('says which file it has read, and that there is none', async () => {
  const cwd = await withFile('server: { port: 4000 }');
  expect(findService({ env: {}, argv: [], cwd }).file).toBe(join(cwd, 'sluice.yaml'));
  expect(findService({ env: {}, argv: [], cwd: join(cwd, 'none') })).not.toHaveProperty('file');
});
