import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

export interface Command {
  file: string;
  args: readonly string[];
  env?: Record<string, string>;
  cwd?: string;
  /** Ids of the user and the group that it runs as. Absent: those of this process. */
  user?: { uid: number; gid: number };
  /** The signal that stops it. Default: SIGTERM. */
  stopSignal?: NodeJS.Signals;
}

/** A program that is not of this repository, running in the foreground. */
export interface SpawnedProcess {
  pid: number;
  /** Its last output, for an error message. */
  output(): string;
  hasEnded(): boolean;
  /** Asks it to end and waits for it. Kills it if it does not end in time. May be called twice. */
  stop(): Promise<void>;
}

/** Time for a start and for a stop, in milliseconds. A program in Python takes its time to import its modules. */
const limits = { startMs: 120_000, stopMs: 15_000 };

/** How often a starting program is tried, in milliseconds. */
const tryEveryMs = 250;

/** How much of its output is kept for an error message, in characters. */
const keptOutput = 4_000;

/** @throws {Error} when the file cannot be run. */
export function spawnProcess({ file, args, env, cwd, user, stopSignal }: Command): SpawnedProcess {
  const child = spawn(file, [...args], {
    // The rest of this environment may hold settings of the service, and keys that a gateway would look for.
    env: { PATH: process.env['PATH'] ?? '', HOME: homedir(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd !== undefined && { cwd }),
    ...user,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-keptOutput);
    });
  }
  const exited = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', (error) => {
      output += String(error);
      resolve();
    });
  });
  if (child.pid === undefined) throw new Error(`${file} cannot be run`);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid,
    output: () => output,
    hasEnded,
    async stop() {
      if (!hasEnded()) child.kill(stopSignal ?? 'SIGTERM');
      const deadline = setTimeout(() => child.kill('SIGKILL'), limits.stopMs);
      await exited;
      clearTimeout(deadline);
    },
  };
}

/**
 * Tries until an attempt succeeds.
 *
 * @param attempt Returns true when it succeeded, else a word on what happened. It may reject.
 * @throws {Error} when the program has ended, or when no attempt succeeds in time.
 */
export async function untilStarted(
  name: string,
  child: SpawnedProcess,
  attempt: () => Promise<true | string>,
): Promise<void> {
  const deadline = performance.now() + limits.startMs;
  let last = 'nothing';
  while (performance.now() < deadline && !child.hasEnded()) {
    try {
      const result = await attempt();
      if (result === true) return;
      last = result;
    } catch (error) {
      last = String(error);
    }
    await pause(tryEveryMs);
  }
  throw new Error(`${name} has not started as it should. It said: ${last}\n${child.output()}`);
}
