import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const source = new URL('../src/postgres/open-postgres.ts', import.meta.url).href;

/** Asks a database twice. A file of its client cannot be read at first, as where a process has no descriptor left. */
const script = `
  import fs from 'node:fs';
  import { openPostgres } from ${JSON.stringify(source)};
  const read = fs.readFileSync;
  fs.readFileSync = (path, ...options) => {
    if (!/[\\\\/]pg[\\\\/]lib[\\\\/]client\\.js$/.test(path)) return read(path, ...options);
    fs.readFileSync = read;
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  };
  const database = openPostgres({ url: 'postgres://127.0.0.1:1/none', onError: () => undefined });
  for (const _ of [1, 2]) await database.id().catch(({ code }) => console.log(code));
  await database.close();
`;

it('is opened again after its client could not be loaded, and can be closed then', async () => {
  // In a process of its own: files of tests share theirs, and with it the client that one of them has loaded.
  const options = ['--conditions=sluice-source', '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  expect(stdout).toBe('EMFILE\nECONNREFUSED\n');
});
