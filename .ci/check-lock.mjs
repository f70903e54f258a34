// Checks that the lock files of the workspace and of the clients under test can be installed from on every platform and
// from every registry:
//   node .ci/check-lock.mjs           prints what is wrong, and exits with 1
//   node .ci/check-lock.mjs --write   adds what is missing
// A registry may lack packages of platforms that nobody there uses. npm then leaves them out of the lock file, and
// `npm ci` refuses the file on those platforms. An entry with its version alone is enough for it.
//
// The lock file of the workspace names no Node.js that a package asks for: the workspace brings its own, and npm, run by another one, would warn of each
// package that this one is too old for. Nor does it name TypeScript as an optional peer, which would be installed without the
// dependencies of development, too, with 31 MB. npm leaves both as they are until the package changes.
import { readFileSync, writeFileSync } from 'node:fs';

const files = ['package-lock.json', 'packages/client-tests/clients/package-lock.json'];
const isWriting = process.argv.includes('--write');
const problems = [];

const systems = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const processors = [
  'arm',
  'arm64',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'wasm32',
  'x64',
];
const otherNames = { windows: 'win32', win: 'win32', 64: 'x64' };

for (const file of files) checkLock(file);
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(
    'node .ci/check-lock.mjs --write adds what is missing; omit-lockfile-registry-resolved leaves hosts out.',
  );
  process.exitCode = 1;
}

function checkLock(file) {
  const at = new URL(`../${file}`, import.meta.url);
  const lock = JSON.parse(readFileSync(at, 'utf8'));
  const packages = { ...lock.packages };
  for (const [where, entry] of Object.entries(lock.packages)) {
    if (/:\/\//.test(entry.resolved ?? '')) problems.push(`${file}: ${where} names the host of a registry`);
    if (file === 'package-lock.json' && where.includes('node_modules/')) checkDemands(file, where, entry);
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (packages[`${where}/node_modules/${name}`] ?? packages[`node_modules/${name}`]) continue;
      const platform = platformOf(name);
      if (!/^\d+\.\d+\.\d+[\w.-]*$/.test(version) || platform === undefined) {
        problems.push(
          `${file}: ${name} ${version}, optional for ${where}, is missing and cannot be added by its name alone`,
        );
      } else if (isWriting) {
        const { cpu, libc, os } = platform;
        const dev = entry.dev === true ? { dev: true } : {};
        packages[`node_modules/${name}`] = { version, ...cpu, ...dev, ...libc, optional: true, ...os };
      } else problems.push(`${file}: ${name} ${version}, optional for ${where}, is missing`);
    }
  }

  if (isWriting) {
    lock.packages = Object.fromEntries(
      Object.entries(packages).toSorted(([one], [other]) => one.localeCompare(other, 'en')),
    );
    writeFileSync(at, `${JSON.stringify(lock, null, 2)}\n`);
  }
}

/** An entry that says more of its package than an installation should go by. */
function checkDemands(file, where, entry) {
  const hasPeer = entry.peerDependenciesMeta?.typescript?.optional === true;
  if (isWriting) {
    delete entry.engines;
    if (hasPeer) {
      delete entry.peerDependencies.typescript;
      delete entry.peerDependenciesMeta.typescript;
    }
    return;
  }
  if (entry.engines !== undefined) problems.push(`${file}: ${where} names the Node.js that it asks for`);
  if (hasPeer) problems.push(`${file}: ${where} has TypeScript as an optional peer`);
}

/** What the name of a package of one platform says of it; undefined when it names none. */
function platformOf(name) {
  const words = (name.split('/').at(-1) ?? '').split(/[-.]/).map((word) => otherNames[word] ?? word);
  const os = words.filter((word) => systems.includes(word));
  const cpu = words.filter((word) => processors.includes(word));
  const libc = words.flatMap((word) => (word === 'musl' ? ['musl'] : word === 'gnu' ? ['glibc'] : []));
  if (os.length === 0 && cpu.length === 0) return undefined;
  const list = (key, values) => (values.length > 0 ? { [key]: values } : {});
  return { cpu: list('cpu', cpu), libc: list('libc', libc), os: list('os', os) };
}
