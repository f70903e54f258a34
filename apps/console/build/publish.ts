import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The file with the digest of the sources that a build was made of. */
const digestName = '.sources';

/** The digest of the sources of the build in a folder; undefined when it holds no complete build. */
export async function publishedDigest(folder: string): Promise<string | undefined> {
  try {
    return await readFile(join(folder, digestName), 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * Moves a build from where it was made to where it is served, file by file. A browser that loads the page meanwhile gets all
 * of the old one or all of the new one: files under `assets/` are named after their content, and the document that names
 * them comes last. Files that the new build does not use are removed after that. A process that dies in between leaves a
 * folder that serves, and that is built anew.
 */
export async function publish(made: string, folder: string, digest: string): Promise<void> {
  const isDocument = (file: string) => file.startsWith('index.html');
  const files = (await filesIn(made)).toSorted((a, b) => Number(isDocument(a)) - Number(isDocument(b)));
  await rm(join(folder, digestName), { force: true });
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await rename(join(made, file), join(folder, file));
  }
  const wanted = new Set(files);
  const unwanted = (await filesIn(folder)).filter((file) => !wanted.has(file));
  await Promise.all(unwanted.map((file) => rm(join(folder, file), { force: true })));
  await writeFile(join(folder, digestName), digest);
}

/** The files below a folder, without those whose names begin with a dot: the marks of builds, and unfinished files. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((file) => !file.startsWith('.'));
}
