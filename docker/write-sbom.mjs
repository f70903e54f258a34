// Writes what the image is made of, as CycloneDX: node docker/write-sbom.mjs <output> <folder of dpkg's records>
// It lists what is there, not what was asked for: the folders of node_modules, the packages in the bundle of the console, Node.js,
// and the libraries that come from Debian. The same image gives the same bytes.
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [output, debianRecords] = process.argv.slice(2);
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const { version, license, description } = readJson('package.json');

const bom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    component: {
      type: 'application',
      'bom-ref': 'sluice',
      name: 'sluice',
      version,
      description,
      ...licensesOf(license),
    },
  },
  components: [nodeRuntime(), ...installed(), ...bundled(), ...debian()],
};
writeFileSync(output, `${JSON.stringify(bom, undefined, 1)}\n`);
console.log(`${bom.components.length} components`);

function nodeRuntime() {
  const release = process.versions.node;
  return {
    type: 'platform',
    'bom-ref': `nodejs@${release}`,
    name: 'node',
    version: release,
    cpe: `cpe:2.3:a:nodejs:node.js:${release}:*:*:*:*:*:*:*`,
    purl: `pkg:generic/node@${release}`,
    ...licensesOf('MIT'),
  };
}

/** The packages in node_modules. Ours are links, and belong to the application. */
function installed() {
  const { packages } = readJson('node_modules/.package-lock.json');
  const manifests = globSync('{,apps/*/,packages/*/}node_modules/{,**/node_modules/}{*,@*/*}/package.json');
  return manifests.toSorted().flatMap((file) => {
    const { name, version: of, license: terms } = readJson(file);
    const folder = file.slice(0, -'/package.json'.length);
    const entry = packages[folder];
    if (entry?.link === true || name?.startsWith('@sluice/') || of === undefined) return [];
    return [npmComponent({ name, version: of, terms, integrity: entry?.integrity, at: folder })];
  });
}

/** The packages of which the console is built. None of them is in node_modules of the image. */
function bundled() {
  return readJson('apps/console/dist/licenses.json')
    .filter(({ name }) => !name.startsWith('@sluice/'))
    .map(({ name, version: of, identifier }) =>
      npmComponent({ name, version: of, terms: identifier, at: 'apps/console/dist' }),
    );
}

function npmComponent({ name, version: of, terms, integrity, at }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${of}`;
  const [algorithm, digest = ''] = integrity?.split(' ')[0].split(/-(.*)/) ?? [];
  return {
    type: 'library',
    'bom-ref': `${purl}#${at}`,
    name,
    version: of,
    purl,
    ...licensesOf(terms),
    ...(algorithm === 'sha512' && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    }),
    properties: [{ name: 'sluice:path', value: at }],
  };
}

function debian() {
  const arch = { x64: 'amd64' }[process.arch] ?? process.arch;
  return readdirSync(debianRecords)
    .toSorted()
    .map((file) => {
      const record = readFileSync(join(debianRecords, file), 'utf8');
      const name = /^Package: (.*)$/m.exec(record)[1];
      const of = /^Version: (.*)$/m.exec(record)[1];
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(of)}?arch=${arch}`;
      return { type: 'library', 'bom-ref': purl, name, version: of, purl };
    });
}

/** An SPDX identifier, an expression of several, or the words of the package. */
function licensesOf(terms) {
  if (typeof terms !== 'string' || terms === '') return {};
  if (/^[\w.+-]+$/.test(terms) && terms !== 'UNLICENSED') return { licenses: [{ license: { id: terms } }] };
  return { licenses: [/ (OR|AND) /.test(terms) ? { expression: terms } : { license: { name: terms } }] };
}
