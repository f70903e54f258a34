import { execFile } from 'node:child_process';

export interface DockerResult {
  code: number;
  /** Standard output. */
  output: string;
  /** Standard error. */
  errors: string;
}

export interface DockerOptions {
  /** Default: two minutes. */
  timeoutMs?: number;
  /** Variables besides those of the test. */
  env?: Record<string, string>;
  cwd?: string;
}

const commandTimeoutMs = 120_000;

/** How much of what a failed command has printed is shown: the log of a build is long, and its end says why. */
const shownCharacters = 4_000;

/** Runs `docker` and resolves with what came of it, whatever its exit code. A command that was killed has the code -1. */
export function tryDocker(args: readonly string[], options: DockerOptions = {}): Promise<DockerResult> {
  const { timeoutMs = commandTimeoutMs, env = {}, cwd } = options;
  return new Promise((resolve) => {
    execFile(
      'docker',
      args,
      {
        timeout: timeoutMs,
        maxBuffer: 2 ** 26,
        // PATH, HOME and DOCKER_HOST lead to the engine.
        env: { ...process.env, ...env },
        ...(cwd !== undefined && { cwd }),
      },
      (error, output, errors) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, output, errors: code === -1 ? `${errors}${error?.message}` : errors });
      },
    );
  });
}

/** Runs `docker` and resolves with its standard output. Rejects with what it printed when it fails. */
export async function docker(args: readonly string[], options: DockerOptions = {}): Promise<string> {
  const { code, output, errors } = await tryDocker(args, options);
  if (code !== 0) {
    throw new Error(
      `docker ${args.join(' ')} ended with ${code}:\n${`${output}${errors}`.slice(-shownCharacters)}`,
    );
  }
  return output;
}

/** What `docker inspect` says of a container, as far as tests read it. */
export interface ContainerFacts {
  Id: string;
  Name: string;
  RestartCount: number;
  State: { Status: string; ExitCode: number; StartedAt: string };
  NetworkSettings: { Ports: Record<string, { HostIp: string }[] | null> };
}

export async function inspectContainers(ids: readonly string[]): Promise<ContainerFacts[]> {
  if (ids.length === 0) return [];
  // The command prints a JSON array with one object for each name.
  return JSON.parse(await docker(['container', 'inspect', ...ids])) as ContainerFacts[];
}

/** Runs JavaScript with the Node.js of a container, as a CommonJS module, and resolves with what it prints. */
export function runInside(id: string, script: string): Promise<string> {
  return docker(insideArgs(id, script));
}

/** The same, and resolves with what came of it, whatever its exit code. */
export function tryInside(id: string, script: string): Promise<DockerResult> {
  return tryDocker(insideArgs(id, script));
}

function insideArgs(id: string, script: string): string[] {
  return ['exec', id, 'node', '--eval', script];
}
