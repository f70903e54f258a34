import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** A start that takes longer has failed, in milliseconds. */
const withinMs = 60_000;

/**
 * Runs a command that starts the whole service, as a person does who has just installed it, sends the first request as soon as its
 * key and address are printed, and ends it.
 *
 * @param command The command and its arguments, in the top folder of the repository.
 * @param directory Where a folder for the data of the service may be made.
 * @returns from the start of the command to the whole answer, in milliseconds.
 * @throws {Error} when the service does not start, or answers with an error.
 */
export async function timeToAnswer(command: readonly string[], directory: string): Promise<number> {
  const [program = '', ...args] = command;
  const dataDir = await mkdtemp(join(directory, 'start-'));
  const startedAt = performance.now();
  const child = spawn(program, args, {
    cwd: root,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      DATA_DIR: dataDir,
      PORT: '0',
      ADMIN_PORT: '0',
      WORKER_HEALTH_PORT: '0',
      SLUICE_DISCOVER: 'off',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // It is ended as a terminal would: by a signal to all of its processes.
  });
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let output = '';
  try {
    const { url, key } = await new Promise<{ url: string; key: string }>((resolve, reject) => {
      const read = (text: string) => {
        output += text;
        const [, address] = /Responses API\s+(http\S+)/.exec(output) ?? [];
        const [, secret] = /Key\s+(sk-\S+)/.exec(output) ?? [];
        if (address !== undefined && secret !== undefined) resolve({ url: address, key: secret });
      };
      child.stdout.setEncoding('utf8').on('data', read);
      child.stderr.setEncoding('utf8').on('data', read);
      child.once('error', reject);
      void exited.then(() => reject(new Error(`'${command.join(' ')}' ended by itself:\n${output}`)));
      setTimeout(
        () => reject(new Error(`'${command.join(' ')}' has not started:\n${output}`)),
        withinMs,
      ).unref();
    });
    const answer = await fetch(`${url}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'simulator', input: '[[sluice: tokens=1]]' }),
    });
    const body = await answer.text();
    if (answer.status !== 200) throw new Error(`the first answer was ${answer.status}: ${body}`);
    return performance.now() - startedAt;
  } finally {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      process.kill(-child.pid, 'SIGINT');
    }
    await exited;
    await rm(dataDir, { recursive: true, force: true });
  }
}
