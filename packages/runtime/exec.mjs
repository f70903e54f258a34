#!/usr/bin/env node
// The scripts of package.json begin with `exec`, so that a signal or a Ctrl-C reaches Node and not a shell around it:
// that would die of it, with an exit code of its own, or leave Node behind. A POSIX shell has `exec` built in. The
// shell of Windows has not, and finds this under the same name among the programs that npm installs.
import { spawn } from 'node:child_process';

const [program = '', ...args] = process.argv.slice(2);
// A Ctrl-C reaches every process of a terminal; the one below decides when to end.
process.on('SIGINT', () => undefined);
const child = spawn(program, args, { stdio: 'inherit', shell: process.platform === 'win32' });
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.once('error', (error) => {
  console.error(error.message);
  process.exitCode = 1;
});
child.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
