import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startMatrix } from './run-matrix.ts';

/** One line of the build that is replaced. */
export interface Edit {
  /** The file, below the root of the repository. A script in Lua is read from its source. */
  file: string;
  /** Must stand in the file exactly once. */
  find: string;
  replace: string;
}

/** A mechanism that is switched off in a copy of the build, and the cells that must fail then. */
export interface Mutant {
  /** What is missing. */
  name: string;
  edits: readonly Edit[];
  /** Cells of the matrix whose name contains this. At least one of them, or what is looked at beside them, must fail. */
  only: string;
  /** Responses in each of these cells. */
  tries: number;
}

const store = 'packages/response-store';

/** Mechanisms by which faults are survived. */
export const mutants: readonly Mutant[] = [
  {
    name: 'a response whose output was seen runs again',
    edits: [
      {
        file: `${store}/src/transitions/claim.lua`,
        find: 'elseif f.stream and seq > (was_queued and 1 or 2) then',
        replace: 'elseif false then',
      },
    ],
    only: 'worker killed / in the middle',
    tries: 1,
  },
  {
    name: 'a claim does not ask whether the worker of a response lives',
    edits: [
      {
        file: `${store}/src/transitions/claim.lua`,
        find: "then return { 'held' } end",
        replace: 'then end',
      },
    ],
    only: 'Redis frozen for longer than a lock / running',
    tries: 8,
  },
  {
    name: 'nobody looks whether the caller of a response is gone',
    edits: [
      {
        file: `${store}/src/fragments/absence.lua`,
        find: 'return now - since >= grace',
        replace: 'return false',
      },
    ],
    only: 'api killed / running without output / synchronous',
    tries: 1,
  },
  {
    name: 'what was accepted without a reply is not taken back',
    edits: [
      {
        file: 'apps/api/dist/responses/accept-response.js',
        find: 'this.#ends.abandon(responseId, this.#dependencies.now() + acceptWithinMs);',
        replace: '',
      },
    ],
    only: 'path to Redis silent / queued / background',
    tries: 1,
  },
];

const workspace = fileURLToPath(new URL('../../../../', import.meta.url));

/** Nobody waits long for what cannot come, in milliseconds. */
const patienceMs = 20_000;

export interface MutantResult {
  mutant: Mutant;
  /** Names of the cells that failed, and the first problem of each. Empty: nobody noticed. */
  failed: string[];
}

/** Runs the cells of a mutant. The copy of the build is gone when it settles. */
export async function runMutant(mutant: Mutant, seed: number): Promise<MutantResult> {
  const copy = await mkdtemp(join(tmpdir(), 'sluice-mutant-'));
  try {
    await copyBuild(copy);
    for (const edit of mutant.edits) await apply(copy, edit);
    const failed: string[] = [];
    const { rounds, done } = startMatrix({
      only: mutant.only,
      tries: mutant.tries,
      seed,
      lanes: 1,
      patienceMs,
      root: copy,
    });
    // A site that falls to pieces is noticed, too.
    await done.catch((error: unknown) => failed.push(`the round: ${String(error)}`));
    for (const round of rounds.values()) {
      for (const { name, problems } of await round.catch(() => [])) {
        if (problems[0] !== undefined) failed.push(`${name}: ${problems[0]}`);
      }
    }
    return { mutant, failed };
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Copies what the built command needs. Packages of others are linked; ours are the copies. */
async function copyBuild(copy: string): Promise<void> {
  for (const group of ['apps', 'packages']) {
    for (const name of await readdir(join(workspace, group))) {
      for (const part of ['package.json', 'dist', 'src']) {
        await cp(join(workspace, group, name, part), join(copy, group, name, part), {
          recursive: true,
        }).catch(ignoreMissing);
      }
      await linkAll(join(workspace, group, name, 'node_modules'), join(copy, group, name, 'node_modules'));
    }
  }
  await linkAll(join(workspace, 'node_modules'), join(copy, 'node_modules'), ['@sluice']);
  await mkdir(join(copy, 'node_modules/@sluice'));
  for (const group of ['apps', 'packages']) {
    for (const name of await readdir(join(copy, group))) {
      const target = join(copy, group, name);
      const { name: fullName } = JSON.parse(await readFile(join(target, 'package.json'), 'utf8')) as {
        name: string;
      };
      if (fullName.startsWith('@sluice/')) await symlink(target, join(copy, 'node_modules', fullName));
    }
  }
  await cp(join(workspace, 'package.json'), join(copy, 'package.json'));
}

async function linkAll(from: string, to: string, without: readonly string[] = []): Promise<void> {
  const names = await readdir(from).catch(() => []);
  for (const name of names) {
    if (without.includes(name)) continue;
    await mkdir(dirname(join(to, name)), { recursive: true });
    await symlink(join(from, name), join(to, name));
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

/** Rejects if the line is not there exactly once, because the mutant would then test nothing. */
async function apply(copy: string, edit: Edit): Promise<void> {
  const path = join(copy, edit.file);
  await writeFile(path, replacedIn(await readFile(path, 'utf8'), edit));
}

function replacedIn(text: string, { file, find, replace }: Edit): string {
  if (text.split(find).length !== 2) throw new Error(`'${find}' does not stand in ${file} exactly once`);
  return text.replace(find, () => replace);
}

/** What a mutant would make of the files of this build. Rejects if a line that it replaces is not there exactly once. */
export function applyInMemory({ edits }: Mutant): Promise<string[]> {
  return Promise.all(
    edits.map(async (edit) => replacedIn(await readFile(join(workspace, edit.file), 'utf8'), edit)),
  );
}
