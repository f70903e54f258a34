// Packs what is published: `@sluice/client`, and the command with the console in it:
//   node .ci/pack.mjs FOLDER    makes both tarballs there, and prints a line of JSON for each
// The command's package has the layout of the repository, because its bundle looks for scripts and for the console where they stand
// there. Libraries that are not in the bundle are its dependencies, at the versions of the lock file.
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { env } from 'node:process';

const root = join(import.meta.dirname, '..');

/** What stands beside the bundle of the command and is read when it runs. */
const besideBundle = [
  'LICENSE',
  'apps/api/package.json',
  'apps/console/dist/**/*',
  'apps/sluice/dist/*.js',
  'packages/*/package.json',
  'packages/*/src/**/*.lua',
];

/** Native accelerators, which their users do without, and what builds the console from its sources. */
const optional = ['bufferutil', 'msgpackr-extract', 'utf-8-validate', 'vite'];

/** Members of a manifest that say nothing to who installs the package. */
const ofWorkspace = [
  'private',
  'scripts',
  'devDependencies',
  'dependencies',
  'optionalDependencies',
  'exports',
];

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('name a folder for the tarballs');
  mkdirSync(folder, { recursive: true });
  for (const packed of [packClient(folder), packCommand(folder)]) console.log(JSON.stringify(packed));
}

/** Packs the client for other people's programs. */
export function packClient(folder) {
  run('tsc', ['-b', 'packages/client']);
  return withFolder((stage) => {
    const manifest = readJson('packages/client/package.json');
    const { private: _private, scripts: _scripts, devDependencies: _dev, ...published } = manifest;
    for (const pattern of ['src/**/*.ts', 'dist/**/*.js', 'dist/**/*.d.ts', 'dist/**/*.map', 'README.md']) {
      copy(pattern, join(root, 'packages/client'), stage, (file) => !file.endsWith('.test.ts'));
    }
    copy('LICENSE', root, stage);
    write(stage, { ...published, ...origin('packages/client') });
    return pack(stage, folder);
  });
}

/** Packs the command: what is built of it, and what that reads. */
export function packCommand(folder) {
  run(process.execPath, ['apps/sluice/build/main.ts']);
  run(process.execPath, ['apps/console/build/main.ts', '--when-stale']);
  return withFolder((stage) => {
    for (const pattern of besideBundle) copy(pattern, root, stage);
    // A bundle that was made again leaves files of the one before.
    const { files } = readJson('apps/sluice/dist/.recipe.json');
    for (const file of globSync('apps/sluice/dist/*.js', { cwd: stage })) {
      if (!files.some((known) => file.endsWith(`/${known}`))) rmSync(join(stage, file));
    }
    copy('README.md', join(root, 'apps/sluice'), stage);
    const manifest = readJson('apps/sluice/package.json');
    const kept = Object.entries(manifest).filter(([name]) => !ofWorkspace.includes(name));
    const { optionalDependencies } = readJson('package.json');
    write(stage, {
      ...Object.fromEntries(kept),
      ...origin('apps/sluice'),
      bin: { sluice: 'apps/sluice/dist/main.js' },
      dependencies: externalsOf(stage),
      // The Node.js that runs the command, found before an older one that is installed. So it asks for no `engines`.
      optionalDependencies,
    });
    return pack(stage, folder);
  });
}

/** The packages that the bundle imports by their names, or loads by what `createRequire` returns, at the versions that it was tested with. */
function externalsOf(stage) {
  const lock = readJson('package-lock.json').packages;
  const names = new Set();
  for (const file of globSync('apps/sluice/dist/*.js', { cwd: stage })) {
    const code = readFileSync(join(stage, file), 'utf8');
    const imports =
      /(?:\bfrom|\bimport\(?|\.resolve\(|\brequireInstalled(?:\$\d+)?\(|\.href\)\()\s*["']((?:@[\w.-]+\/)?[\w.-]+)(?:\/[\w./-]*)?["']/g;
    for (const [, name] of code.matchAll(imports)) names.add(name);
  }
  // A module of Node.js may have a namesake among the packages.
  const installed = [...names].filter(
    (name) => lock[`node_modules/${name}`] && !isBuiltin(name) && !optional.includes(name),
  );
  return Object.fromEntries(
    installed
      .toSorted((one, other) => one.localeCompare(other, 'en'))
      .map((name) => [name, lock[`node_modules/${name}`].version]),
  );
}

/** Where a package comes from, as far as the repository says. */
function origin(directory) {
  const { repository } = readJson('package.json');
  return repository === undefined ? {} : { repository: { ...repository, directory } };
}

/** npm packs what stands in the folder, and runs nothing of it. */
function pack(stage, folder) {
  const output = execFileSync(
    'npm',
    ['pack', stage, '--json', '--ignore-scripts', '--pack-destination', resolve(folder)],
    {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const parsed = JSON.parse(output);
  const [{ name, version, filename, size, unpackedSize }] = Object.values(parsed);
  return { name, version, file: join(resolve(folder), filename), size, unpackedSize };
}

function withFolder(use) {
  const stage = mkdtempSync(join(tmpdir(), 'sluice-pack-'));
  try {
    return use(stage);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function copy(pattern, from, to, isWanted = () => true) {
  for (const entry of globSync(pattern, { cwd: from, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name).slice(from.length).replace(/^\//, '');
    if (!isWanted(file)) continue;
    mkdirSync(dirname(join(to, file)), { recursive: true });
    cpSync(join(from, file), join(to, file));
  }
}

function write(stage, manifest) {
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

function readJson(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'));
}

function run(command, args) {
  const path = `${join(root, 'node_modules/.bin')}:${env.PATH}`;
  execFileSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...env, PATH: path },
  });
}
