import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { createInterface } from 'node:readline';
import { within } from './wait-until.ts';

/** A server that runs as a program of this machine. */
export interface ServerProgram {
  pid: number;
  /** Ends it, and resolves when it has ended. */
  end: (signal: NodeJS.Signals) => Promise<void>;
}

export interface ServerProgramOptions extends SpawnOptions {
  /** The name of the server in errors. */
  name: string;
  /** A part of the line by which it says, on its standard error, that it is ready. */
  readyLine: string;
  /** The signal that ends it with the process that started it, which it does not outlive. */
  lastSignal: NodeJS.Signals;
}

/** Starts a server, and resolves when it is ready. Rejects with what it has printed when it ends before. */
export async function startProgram(
  program: string,
  args: readonly string[],
  { name, readyLine, lastSignal, ...options }: ServerProgramOptions,
): Promise<ServerProgram> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  const kill = () => child.kill(lastSignal);
  process.once('exit', kill);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const printed: string[] = [];
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      printed.push(line);
      if (line.includes(readyLine)) resolve();
    });
  });
  const ended = exited.then(() => Promise.reject(new Error(`${name} has ended:\n${printed.join('\n')}`)));
  await within(Promise.race([ready, ended]));
  ended.catch(() => undefined);
  return {
    pid: Number(child.pid), // It has started.
    async end(signal) {
      process.off('exit', kill);
      child.kill(signal);
      await within(exited);
    },
  };
}

/** Kills a server, unless it has ended. */
export async function killServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  await exited;
}
