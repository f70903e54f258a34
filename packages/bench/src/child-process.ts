import { type ChildProcess, fork } from 'node:child_process';

export interface ChildOptions {
  /** Its name in error messages. */
  name: string;
  file: string;
  args?: readonly string[];
  env?: Record<string, string>;
  /** Flags for Node. */
  execArgv?: readonly string[];
}

/** A process of the benchmark. Its first message says that it is ready. */
export interface Child {
  pid: number;
  /** Its first message. */
  ready: Record<string, unknown>;
  /** Sends a message and resolves with the next message from the process. One call at a time. */
  ask(message: object, withinMs: number): Promise<unknown>;
  /** Asks the process to end and waits for it. Kills it if it does not end in time. May be called twice. */
  stop(): Promise<void>;
}

const startWithinMs = 20_000;
const stopWithinMs = 15_000;

/** How much of its output is kept for an error message, in characters. */
const keptOutput = 4_000;

/** Starts a process and resolves when it is ready. Rejects with its last output if it ends before that. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, file, args = [], env = {}, execArgv = [] } = options;
  const child = fork(file, [...args], {
    // The rest of this environment is not passed on, because it may hold settings of the service.
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    execArgv: [...execArgv],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-keptOutput);
    });
  }
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const died = exited.then(() => {
    throw new Error(`the ${name} ended by itself:\n${output}`);
  });
  died.catch(() => undefined); // Only a call that waits for an answer handles it.
  const answer = (withinMs: number) => Promise.race([nextMessage(child, name, withinMs), died]);
  const stop = () => end(child, exited);
  try {
    const ready = (await answer(startWithinMs)) as Record<string, unknown>; // every process here sends an object
    if (child.pid === undefined) throw new Error(`the ${name} has no process`);
    return {
      pid: child.pid,
      ready,
      ask(message, withinMs) {
        child.send(message, () => undefined); // a process that has ended is told of by `answer`
        return answer(withinMs);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function nextMessage(child: ChildProcess, name: string, withinMs: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      clearTimeout(timer);
      resolve(message);
    };
    const timer = setTimeout(() => {
      child.off('message', onMessage);
      reject(new Error(`the ${name} has not answered within ${withinMs} ms`));
    }, withinMs);
    child.once('message', onMessage);
  });
}

async function end(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  const deadline = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
  await exited;
  clearTimeout(deadline);
}

/** Starts a source file of this package as a process, from source or built as this one is. */
export function ownProcess(path: string): Pick<ChildOptions, 'file' | 'execArgv'> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const file = new URL(`${path}.${extension}`, import.meta.url);
  return { file: file.pathname, execArgv: extension === 'ts' ? ['--conditions=sluice-source'] : [] };
}
