import { execFile } from 'node:child_process';
import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Progress } from '@sluice/testing';
import type { Command } from './spawned-process.ts';

export type RunInstall = (command: Command) => Promise<void>;

/** A program to compare with. It is installed when somebody asks for the comparison, and is no dependency. */
export interface Installable {
  name: string;
  /** The release that is compared. */
  version: string;
  /** Installs it into an empty folder, by commands that are run there. */
  install: (folder: string, run: RunInstall) => Promise<void>;
}

/** The longest time for one command of an installation, in milliseconds. A server that is built from its sources takes a while. */
const installMs = 3_600_000;

/** The folder of a program, outside of the repository, so that it is installed once. */
export function folderOf({ name, version }: Installable): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return join(cache, 'sluice-bench', `${name}-${version}`);
}

/** Installs those of these that the command line names, or all when it names none. */
export async function installChosen<Program extends Installable>(
  known: readonly Program[],
  { rivals, progress }: { rivals: readonly string[]; progress: Progress },
): Promise<Program[]> {
  const chosen = known.filter(({ name }) => rivals.length === 0 || rivals.includes(name));
  for (const program of chosen) {
    progress.say(`installing ${program.name} ${program.version}`);
    await installOnce(program);
  }
  return chosen;
}

/** Installs a program unless it is there. An installation that broke off starts again. */
async function installOnce(program: Installable): Promise<void> {
  const folder = folderOf(program);
  const mark = join(folder, 'installed');
  if (await isThere(mark)) return;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await program.install(folder, async ({ file, args, env }) => {
    // With the whole environment, which may say where packages come from.
    await promisify(execFile)(file, [...args], {
      cwd: folder,
      timeout: installMs,
      env: { ...process.env, ...env },
    });
  });
  await writeFile(mark, '');
}

/** Installs packages of npm with a manifest of their own, and runs none of their scripts. */
export async function installPackages(
  folder: string,
  run: RunInstall,
  manifest: { dependencies: Record<string, string>; overrides?: Record<string, string> },
): Promise<void> {
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, ...manifest }));
  const args = ['install', `--prefix=${folder}`, '--no-audit', '--no-fund', '--ignore-scripts'];
  await run({ file: 'npm', args });
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
