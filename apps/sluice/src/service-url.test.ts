import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { noteRunningService } from './running-service.ts';
import { adminUrl, serviceUrl } from './service-url.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'sluice-url-'));
  await writeFile(join(cwd, 'sluice.yaml'), 'server: { port: 4000, adminPort: 4001 }');
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const urls = (env: Record<string, string> = {}) => {
  const sources = { env, argv: [], cwd };
  return [serviceUrl(sources), adminUrl(sources)].map((url) => url.replace('http://127.0.0.1:', ''));
};

it('is what is named, else the port of the environment, the running service, and the file, in this order', () => {
  expect(urls()).toEqual(['4000', '4001']);
  const note = noteRunningService(join(cwd, '.data'), {
    store: 'redis://127.0.0.1:1',
    url: 'http://127.0.0.1:5000',
    adminUrl: 'http://127.0.0.1:5001',
  });
  expect(urls()).toEqual(['5000', '5001']);
  expect(urls({ PORT: '0', ADMIN_PORT: '' })).toEqual(['5000', '5001']);
  expect(urls({ PORT: '6000' })).toEqual(['6000', '5001']);
  expect(urls({ ADMIN_PORT: '6001' })).toEqual(['5000', '6001']);
  expect(urls({ PORT: '6000', SLUICE_URL: 'http://elsewhere' })).toEqual(['http://elsewhere', '5001']);
  note.remove();
  expect(urls()).toEqual(['4000', '4001']);
});
