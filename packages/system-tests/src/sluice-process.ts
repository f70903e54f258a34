import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, type WaitOptions, within } from '@sluice/testing';

/** The root of the workspace, with the command as `bundleCommand` makes it. */
const workspace = fileURLToPath(new URL('../../..', import.meta.url));

export interface SluiceProcessOptions {
  command:
    | 'start'
    | 'api'
    | 'worker'
    | 'responses'
    | 'batch'
    | 'keys'
    | 'cells'
    | 'queues'
    | 'models'
    | 'providers'
    | 'tenants'
    | 'usage'
    | 'webhooks'
    | 'doctor'
    | 'bench';
  args?: readonly string[];
  /** Variables besides PATH and HOME. The rest of the test's environment is not passed on. */
  env?: Record<string, string>;
  cwd?: string;
  /** The root of another build of the workspace. */
  root?: string | undefined;
  /** Whether the process leads its own process group, like the foreground job of a terminal. */
  leadsGroup?: boolean;
}

/** How a process ended. */
export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A line of the log, as pino writes it. */
export type LogLine = Record<string, unknown> & { msg: string };

/** One process of the built service. */
export interface SluiceProcess {
  pid: number;
  isRunning: () => boolean;
  /** Its standard output and standard error so far. */
  output: () => string;
  /** Its standard error so far. */
  errors: () => string;
  logLines: () => LogLine[];
  exited: Promise<ProcessExit>;
  signal: (name: NodeJS.Signals) => void;
  /** Sends a signal to its whole process group, as a terminal does for Ctrl-C. Only for the leader of a group. */
  signalGroup: (name: NodeJS.Signals) => void;
  /** Waits for a log line with this message. Rejects with the whole output if the process ends before that. */
  logged: (message: string, options?: WaitOptions) => Promise<LogLine>;
  /** Waits until the output matches. Rejects with the whole output if the process ends before that. */
  printed: (pattern: RegExp, options?: WaitOptions) => Promise<RegExpExecArray>;
  /** Asks the process to stop and resolves with how it ended, also if it has ended before. */
  stop: (name?: 'SIGTERM' | 'SIGINT') => Promise<ProcessExit>;
  /** Kills the process as a crash would. May be called twice. */
  kill: () => Promise<void>;
}

/** How long a process may take to drain and end: as long as a whole service with its store. */
const STOP_WITHIN_MS = 60_000;

/** Starts one process of the built service. It is not ready yet: wait for its log line. */
export function startProcess(options: SluiceProcessOptions): SluiceProcess {
  const { command, args = [], env = {}, cwd, root = workspace, leadsGroup = false } = options;
  const main = join(root, 'apps/sluice/dist/main.js');
  const child = spawn(process.execPath, [main, command, ...args], {
    env: { ...bareEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: leadsGroup,
    ...(cwd !== undefined && { cwd }),
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`'${command}' could not be spawned`);
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    errors += text;
  });
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  // `close` comes after the last byte of the output. `exit` may come earlier.
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const found = <T>(look: () => T | undefined, what: string, wait?: WaitOptions) =>
    eventually(() => {
      const value = look();
      if (value === undefined && !isRunning()) return { ended: true as const };
      return value === undefined ? undefined : { value };
    }, wait).then(
      (result) => {
        if ('value' in result) return result.value;
        throw new Error(`'${command}' ended before it ${what}:\n${output}`);
      },
      (error: unknown) => {
        throw new Error(`'${command}' has not ${what}:\n${output}`, { cause: error });
      },
    );
  return {
    pid,
    isRunning,
    output: () => output,
    errors: () => errors,
    logLines: () => readLog(output),
    exited,
    signal: (name) => void child.kill(name),
    signalGroup: (name) => void process.kill(-pid, name),
    logged: (message, wait) =>
      found(() => readLog(output).find(({ msg }) => msg === message), `logged '${message}'`, wait),
    printed: (pattern, wait) => found(() => pattern.exec(output) ?? undefined, `printed ${pattern}`, wait),
    stop(name = 'SIGTERM') {
      if (isRunning()) child.kill(name);
      return within(exited, { timeoutMs: STOP_WITHIN_MS });
    },
    async kill() {
      if (isRunning()) child.kill('SIGKILL');
      await within(exited);
    },
  };
}

/** Runs a command to its end, and resolves with its exit code and all that it printed. */
export async function runCommand(
  options: SluiceProcessOptions,
): Promise<{ code: number | null; output: string }> {
  const process = startProcess(options);
  const { code } = await process.exited;
  return { code, output: process.output() };
}

/** The values of an output whose lines are JSON. */
export function linesOfJson<Line = Record<string, unknown>>(output: string): Line[] {
  const lines = output.trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Line); // as the command prints it
}

/** The variables that a process needs to run. Credentials and settings of the machine are not passed on. */
export function bareEnvironment(): Record<string, string> {
  // An Ollama on the machine of the tests is none of their business.
  return { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', SLUICE_DISCOVER: 'off' };
}

function readLog(output: string): LogLine[] {
  return output.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      const parsed: unknown = JSON.parse(line);
      // Every line of pino has a message. A line that is not complete yet does not parse.
      return isLogLine(parsed) ? [parsed] : [];
    } catch {
      return [];
    }
  });
}

function isLogLine(value: unknown): value is LogLine {
  return typeof value === 'object' && value !== null && 'msg' in value && typeof value.msg === 'string';
}
