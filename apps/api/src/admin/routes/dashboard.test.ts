import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const source = new URL('dashboard.ts', import.meta.url).href;

/** Opens the dashboard twice. The package of its page is not found at first, as where a process has no descriptor left. */
const script = `
  import Module from 'node:module';
  import { fastify } from 'fastify';
  const resolve = Module._resolveFilename;
  Module._resolveFilename = (name, ...from) => {
    if (name !== '@bull-board/ui/package.json') return resolve(name, ...from);
    Module._resolveFilename = resolve;
    throw new Error('too many open files');
  };
  const open = async () => {
    const { registerDashboard } = await import(${JSON.stringify(source)});
    const app = fastify();
    await registerDashboard(app, '/queues', { forDashboard: () => [] });
    return (await app.inject('/queues')).statusCode;
  };
  for (const _ of [1, 2]) console.log(await open().catch(({ message }) => message));
`;

it('finds the files of its page when it is opened again', async () => {
  // In a process of its own: files of tests share theirs, and with it what one of them has loaded.
  const options = ['--conditions=sluice-source', '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, options, {
    cwd: new URL('.', import.meta.url),
  });
  expect(stdout).toBe('too many open files\n200\n');
});
