import { spawn } from 'node:child_process';
import { within } from '@sluice/testing';

export interface TerminalProgram {
  file: string;
  args: readonly string[];
  cwd: string;
  /** All of its environment, besides the path and proxies that lead nowhere. */
  env: Readonly<Record<string, string>>;
  /** It is interrupted when it prints this. */
  until?: string | undefined;
}

/** Nothing listens there, so whatever is not on loopback is out of reach. */
const nowhere = 'http://127.0.0.1:9';

/** Runs a program to its end. Returns its exit code, and what it printed in lines of JSON. One that does not end is killed. */
export async function runProgram({
  file,
  args,
  cwd,
  env,
  until,
}: TerminalProgram): Promise<{ code: number | null; lines: unknown[] }> {
  const child = spawn(file, args, {
    cwd,
    env: {
      PATH: process.env['PATH'],
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      NO_PROXY: '127.0.0.1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // The whole group is ended if it takes too long: a script may have started the program.
    detached: true,
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (until !== undefined && output.includes(until)) child.kill('SIGINT');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const exited = new Promise<number | null>((done) => {
    child.once('close', (code) => done(code));
  });
  try {
    const code = await within(exited, { timeoutMs: 25_000 });
    const lines = output.split('\n').filter((line) => line.startsWith('{'));
    return { code, lines: lines.map((line) => JSON.parse(line) as unknown) };
  } catch (error) {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await exited;
    throw new Error(`${file} did not end:\n${output}\n${errors}`, { cause: error });
  }
}
