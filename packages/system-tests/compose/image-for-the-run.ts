import { fileURLToPath } from 'node:url';
import { dockerAnswers } from '@sluice/testing';
import type { TestProject } from 'vitest/node';
import { docker, tryDocker } from './docker.ts';
import { projectPrefix, removeProject } from './compose-project.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The tag of the image that was built for this run. Empty where no engine answers, or it has no `docker compose`. */
    image: string;
  }
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const buildTimeoutMs = 20 * 60_000;

/**
 * Builds the image once for all tests of a run, and resolves with the function that removes it and every compose project of
 * the run. Removes what a run that was killed has left behind first. Without an engine it does nothing and takes no time.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!(await hasEngine())) {
    project.provide('image', '');
    return () => Promise.resolve();
  }
  await removeLeftOvers();
  const image = `sluice-test:${process.pid}`;
  // The network of this machine, as for an `npm ci` in its terminal.
  await docker(['build', '--network', 'host', '--tag', image, '.'], { cwd: root, timeoutMs: buildTimeoutMs });
  project.provide('image', image);
  return async () => {
    await Promise.all((await projects()).filter(isOfThisRun).map(removeProject));
    await docker(['image', 'rm', image]);
  };
}

async function hasEngine(): Promise<boolean> {
  if (!(await dockerAnswers(process.env['DOCKER_HOST']))) return false;
  return (await tryDocker(['compose', 'version'])).code === 0;
}

const isOfThisRun = (name: string) => pidOf(name) === process.pid;

async function removeLeftOvers(): Promise<void> {
  const dead = (await projects()).filter((name) => !isAlive(pidOf(name)));
  await Promise.all(dead.map(removeProject));
}

/** The compose projects of test runs on this engine, by the labels of what they have made. */
async function projects(): Promise<string[]> {
  const label = 'com.docker.compose.project';
  const format = ['--format', `{{.Label "${label}"}}`, '--filter', `label=${label}`];
  const lists = await Promise.all([
    docker(['ps', '--all', ...format]),
    docker(['network', 'ls', ...format]),
    docker(['volume', 'ls', ...format]),
  ]);
  const names = lists.flatMap((list) => list.split('\n'));
  return [...new Set(names)].filter((name) => name.startsWith(projectPrefix));
}

const pidOf = (name: string) => Number(name.slice(projectPrefix.length).split('-')[0]);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
