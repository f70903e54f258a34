// Releases a version: `npm run release -- VERSION`, or first `npm run release -- VERSION --dry-run`, which changes nothing and publishes
// nothing, and shows what would be.
//
//   1. gives every manifest, the lock file, the Dockerfile, the compose file and the chart the version, and CHANGELOG.md a section of it
//   2. packs `@sluice/client` and `sluice`, and prints what is in them
//   3. commits, tags, publishes both with npm, and prints how to build and push the image
//
// npm asks who publishes, as `npm login` or its configuration says. A pipeline that npm knows signs where the packages come from
// (`--provenance`), for which package.json names the repository.
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { parseArgs } from 'node:util';
import { packClient, packCommand } from './pack.mjs';

process.chdir(join(import.meta.dirname, '..'));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false } },
});
const isDry = values['dry-run'];
const { version: before, repository } = JSON.parse(readFileSync('package.json', 'utf8'));
const version = positionals[0] ?? before;
const hasProvenance = env.GITHUB_ACTIONS === 'true' || env.GITLAB_CI === 'true';

const problems = [
  ...(/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version) ? [] : [`'${version}' is no version`]),
  ...(git('status', '--porcelain') === '' ? [] : ['there are changes that are not committed']),
  ...(git('tag', '--list', `v${version}`) === '' ? [] : [`there is a tag v${version} already`]),
  ...(hasProvenance && repository === undefined
    ? ['package.json names no repository, which provenance needs']
    : []),
];
for (const problem of problems) console.error(`${isDry ? 'would be refused' : 'refused'}: ${problem}`);
if (problems.length > 0 && !isDry) process.exit(1);

const edits = [...versionEdits(), changelogEdit()].filter(({ text, was }) => text !== was);
for (const { file, text } of edits) {
  console.log(`${isDry ? 'would change' : 'changed'} ${file}`);
  if (!isDry) writeFileSync(file, text);
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-release-'));
const packed = [packClient(folder), packCommand(folder)];
for (const { name, version: packedAs, size, unpackedSize, file } of packed) {
  console.log(
    `\n${name} ${packedAs}: ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked, in ${file}`,
  );
  const files = execFileSync('tar', ['tzf', file], { encoding: 'utf8' }).trim().split('\n');
  console.log(`  ${files.length} files: ${files.slice(0, 4).join(', ')}, …`);
}

step('git', ['commit', '--all', '--message', `Release ${version}`]);
step('git', ['tag', `v${version}`]);
for (const { file } of packed) {
  step('npm', ['publish', file, '--ignore-scripts', ...(hasProvenance ? ['--provenance'] : [])]);
}
console.log(`\nThe image, from the tag v${version}; put your registry before its name:`);
const tags = imageTags().map((tag) => `--tag sluice:${tag}`);
console.log(
  `  docker build --build-arg VERSION=${version} --build-arg REVISION=$(git rev-parse HEAD) ${tags.join(' ')} .`,
);
if (isDry) console.log('\nNothing was changed or published.');

/** A step that a dry run only shows. */
function step(program, args) {
  console.log(`${isDry ? '\nwould run' : '\nrunning'}: ${program} ${args.join(' ')}`);
  if (!isDry) execFileSync(program, args, { stdio: 'inherit' });
}

/** A release is found by each of its numbers; one before it is final by its whole version alone. */
function imageTags() {
  const [major, minor] = version.split('.');
  if (version.includes('-')) return [version];
  return [version, `${major}.${minor}`, ...(major === '0' ? [] : [major]), 'latest'];
}

function versionEdits() {
  const manifests = ['package.json', ...globSync(['apps/*/package.json', 'packages/*/package.json'])];
  return [
    ...manifests.map((file) =>
      edit(file, (text) => text.replace(`"version": "${before}"`, `"version": "${version}"`)),
    ),
    edit('package-lock.json', (text) => {
      const lock = JSON.parse(text);
      lock.version = version;
      for (const [where, entry] of Object.entries(lock.packages)) {
        if (!where.includes('node_modules/') && entry.version === before) entry.version = version;
      }
      return `${JSON.stringify(lock, null, 2)}\n`;
    }),
    edit('Dockerfile', (text) => text.replace(`ARG VERSION=${before}`, `ARG VERSION=${version}`)),
    edit('docker-compose.yml', (text) => text.replaceAll(`sluice:${before}`, `sluice:${version}`)),
    edit('deploy/helm/sluice/Chart.yaml', (text) =>
      text.replaceAll(/^((?:appVersion|version): "?)[\d.]+("?)$/gm, `$1${version}$2`),
    ),
  ];
}

/** What changed becomes the section of the version, under a new and empty one. */
function changelogEdit() {
  const today = new Date().toISOString().slice(0, 10);
  return edit('CHANGELOG.md', (text) =>
    text.includes(`\n## ${version}`)
      ? text
      : text.replace('\n## Unreleased\n', `\n## Unreleased\n\n## ${version} (${today})\n`),
  );
}

function edit(file, change) {
  const was = readFileSync(file, 'utf8');
  return { file, was, text: change(was) };
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function kilobytes(bytes) {
  return `${Math.ceil(bytes / 1000)} kB`;
}
