import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('./processes/tell-parent.ts', import.meta.url));

it('a parent is told as long as it listens, and one that is gone does no harm', async () => {
  const child = fork(program, [], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += String(text)));
  const [message] = await once(child, 'message');
  expect(message).toEqual({ is: 'running' });
  const exited = once(child, 'exit');
  child.disconnect();
  expect(await exited).toEqual([0, null]);
  expect(output.trim()).toBe('went on');
});

it('nobody is told where there is no parent to hear it', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program]);
  expect([stdout, stderr]).toEqual(['', '']);
});
