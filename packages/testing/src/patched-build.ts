import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const workspace = fileURLToPath(new URL('../../..', import.meta.url));

/** A change of one file of the workspace, as a search and what takes the place of what it finds. */
export interface Patch {
  /** Below the root of the workspace. */
  file: string;
  find: string | RegExp;
  replace: string;
}

/** A copy of the workspace. With changes it stands for another release. */
export interface PatchedBuild {
  root: string;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** Copies the sources of what runs, changes them, and bundles them. Rejects when a patch finds nothing. */
export async function patchedBuild(patches: readonly Patch[]): Promise<PatchedBuild> {
  const build = await copyOf((path) => !/^(?:dist|test)$|\.test\.ts$/.test(basename(path)));
  await cp(join(workspace, 'package-lock.json'), join(build.root, 'package-lock.json'));
  for (const patch of patches)
    await writeFile(join(build.root, patch.file), await patched(patch, build.root));
  await promisify(execFile)(process.execPath, [join(build.root, 'apps/sluice/build/main.ts')]);
  return build;
}

/** Copies the sources, so that tests can run in the copy. */
export async function copiedSources(): Promise<PatchedBuild> {
  const copy = await copyOf((path) => basename(path) !== 'dist');
  for (const name of await readdir(workspace)) {
    if (/^(package|tsconfig.*)\.json$|^vitest\.config\.ts$/.test(name)) {
      await cp(join(workspace, name), join(copy.root, name));
    }
  }
  // Tests of the api hold its answers against it.
  const described = join('docs', 'openapi.json');
  await cp(join(workspace, described), join(copy.root, described));
  return copy;
}

async function copyOf(isWanted: (path: string) => boolean): Promise<PatchedBuild> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'sluice-build-')));
  for (const folder of ['apps', 'packages']) {
    await cp(join(workspace, folder), join(root, folder), {
      recursive: true,
      filter: (path) => !/^(node_modules|\.turbo)$/.test(basename(path)) && isWanted(path),
    });
  }
  await linkModules(root);
  return { root, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
}

/** What a patch makes of a file, by default of this build. Rejects unless it finds its place exactly once. */
export async function patched({ file, find, replace }: Patch, root = workspace): Promise<string> {
  const text = await readFile(join(root, file), 'utf8');
  const pieces = text.split(find);
  if (pieces.length !== 2) throw new Error(`'${String(find)}' does not stand in ${file} exactly once`);
  return pieces.join(replace);
}

/** Packages of others are shared, and our own lead to the copy. */
async function linkModules(root: string): Promise<void> {
  const modules = join(workspace, 'node_modules');
  await mkdir(join(root, 'node_modules', '@sluice'), { recursive: true });
  for (const name of await readdir(modules)) {
    if (name !== '@sluice') await symlink(join(modules, name), join(root, 'node_modules', name));
  }
  for (const folder of ['apps', 'packages']) {
    for (const name of await readdir(join(root, folder))) {
      const own = `${root}${sep}${folder}${sep}${name}`;
      await symlink(own, join(root, 'node_modules', '@sluice', name));
    }
  }
}
