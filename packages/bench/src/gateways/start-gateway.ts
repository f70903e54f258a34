import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Target } from '../load/order.ts';
import { directTarget } from '../targets.ts';
import { modelName, type NoOpModel } from '../upstream/no-op-answer.ts';
import type { Command, Gateway } from './gateway.ts';

/** Time for an installation, and for a start, in milliseconds. Python takes its time to import what it may need. */
const limits = { installMs: 600_000, startMs: 120_000, stopMs: 15_000 };

/** How often a starting gateway is tried, in milliseconds. */
const tryEveryMs = 250;

/** How much of its output is kept for an error message, in characters. */
const keptOutput = 4_000;

export interface RunningGateway {
  pid: number;
  /** A streamed answer through it, whose bytes are much like those of the upstream. */
  target: (model: NoOpModel) => Target;
  stop: () => Promise<void>;
}

/** The folder of a gateway, outside of the repository, so that it is installed once. */
function folderOf({ name, version }: Gateway): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return join(cache, 'sluice-bench', `${name}-${version}`);
}

/** Installs a gateway unless it is there. What broke off is begun anew. */
export async function installGateway(gateway: Gateway): Promise<void> {
  const folder = folderOf(gateway);
  const mark = join(folder, 'installed');
  if (await isThere(mark)) return;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await gateway.install(folder, async ({ file, args }) => {
    // With the whole environment, which may say where packages come from.
    await promisify(execFile)(file, [...args], { cwd: folder, timeout: limits.installMs });
  });
  await writeFile(mark, '');
}

/** Starts a gateway that is installed. Resolves when an answer of each model comes through it. */
export async function startGateway(
  gateway: Gateway,
  { upstreamUrl, models }: { upstreamUrl: string; models: readonly NoOpModel[] },
): Promise<RunningGateway> {
  const port = await freePort();
  const command = await gateway.serve({
    folder: folderOf(gateway),
    port,
    upstreamUrl,
    models: models.map(modelName),
  });
  const child = startProcess(command);
  const origin = `http://127.0.0.1:${port}`;
  const target = (model: NoOpModel): Target => {
    const direct = directTarget(upstreamUrl, model);
    return { ...direct, origin, headers: { ...direct.headers, ...gateway.headers(upstreamUrl) } };
  };
  const stop = () => end(child.process, child.exited);
  try {
    for (const model of models) await untilItAnswers(target(model), gateway.name, child);
    if (child.process.pid === undefined) throw new Error(`${gateway.name} has no process`);
    return { pid: child.process.pid, target, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface StartedProcess {
  process: ChildProcess;
  exited: Promise<void>;
  output: () => string;
}

function startProcess({ file, args, env }: Command): StartedProcess {
  const started = spawn(file, [...args], {
    env: { ...plainEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [started.stdout, started.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-keptOutput);
    });
  }
  const exited = new Promise<void>((resolve) => {
    started.once('close', () => resolve());
    started.once('error', (error) => {
      output += String(error);
      resolve();
    });
  });
  return { process: started, exited, output: () => output };
}

async function untilItAnswers(target: Target, name: string, child: StartedProcess): Promise<void> {
  const { origin, path, headers, body, mark } = target;
  const deadline = performance.now() + limits.startMs;
  let last = 'no answer';
  while (performance.now() < deadline) {
    if (child.process.exitCode !== null || child.process.signalCode !== null) break;
    try {
      const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
      last = await response.text();
      if (response.ok && last.includes(mark)) return;
    } catch (error) {
      last = String(error);
    }
    await pause(tryEveryMs);
  }
  throw new Error(`${name} does not answer as its upstream does. It said: ${last}\n${child.output()}`);
}

async function end(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
  const deadline = setTimeout(() => child.kill('SIGKILL'), limits.stopMs);
  await exited;
  clearTimeout(deadline);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a pipe
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The rest of this environment may hold settings of the service, and keys that a gateway would look for. */
function plainEnvironment(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: homedir() };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
