import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { copiedSources, patched } from '@sluice/system-tests/mutants';
import { historyMutants } from './history-mutants.ts';

/*
 * Switches mechanisms off, one by one, in a copy of the sources, and says after how many seeds the simulation notices.
 *
 *   --seeds N   how many it may take
 *   --only T    those whose name contains this
 */

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1000' }, only: { type: 'string', default: '' } },
});
const print = (text: string) => process.stdout.write(`${text}\n`);
await using copy = await copiedSources();
for (const mutant of historyMutants.filter(({ name }) => name.includes(values.only))) {
  const file = join(copy.root, mutant.patch.file);
  const original = await readFile(file, 'utf8');
  await writeFile(file, await patched(mutant.patch, copy.root));
  print(`| ${mutant.name} | ${(await run()).join(' | ')} |`);
  await writeFile(file, original);
}

/** Runs seeds until one fails. Returns how many that took, and the first problem. */
async function run(): Promise<[string, string]> {
  const main = join(copy.root, 'packages/simulation/src/main.ts');
  const args = ['--conditions=sluice-source', main, '--first', '--seeds', values.seeds];
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, args, (_error, stdout, stderr) => resolve(stdout + stderr));
  const printed = await promise;
  const [, seed, problem = ''] = /^seed (\d+) FAILED\n +(.*)/m.exec(printed) ?? [];
  if (seed !== undefined) return [String(Number(seed) + 1), problem.slice(0, 100).replaceAll('|', '/')];
  return /^\d+ seeds, 0 failed/m.test(printed)
    ? [`not in ${values.seeds}`, '']
    : ['broken', printed.slice(-300)];
}
