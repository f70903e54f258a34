import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { patched, workspace } from '@sluice/testing';
import type { TestedMechanism } from './tested-mechanisms.ts';

/** The part of Vitest's report in JSON that is read here. */
interface Report {
  numTotalTests: number;
  testResults: { assertionResults: { status: string; fullName: string }[] }[];
}

export interface TestedResult {
  mechanism: TestedMechanism;
  /** Names of the tests that failed. Empty: nobody noticed. */
  failed: string[];
}

/** How long the tests of one mechanism may take, in milliseconds. Without it some wait for what cannot come. */
const longestRunMs = 180_000;

/**
 * Runs the tests of a mechanism in a copy of the sources in which it is switched off, and mends the copy again.
 *
 * @returns the names of those that failed. Empty: nobody noticed. Rejects when no test ran.
 */
export async function runTestsWithout({ patch, tests }: TestedMechanism, root: string): Promise<string[]> {
  const file = join(root, patch.file);
  const original = await readFile(file, 'utf8');
  await writeFile(file, await patched(patch, root));
  try {
    return await failuresOf(tests.split(' '), root);
  } finally {
    await writeFile(file, original);
  }
}

async function failuresOf(files: readonly string[], root: string): Promise<string[]> {
  const output = join(root, 'report.json');
  await rm(output, { force: true });
  const vitest = join(workspace, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', ...files, '--bail', '1', '--reporter=json', `--outputFile=${output}`];
  const ended = Promise.withResolvers<string>();
  // It ends with 1 when a test fails, as one should.
  execFile(process.execPath, args, { cwd: root, timeout: longestRunMs }, (_error, stdout, stderr) =>
    ended.resolve(stdout + stderr),
  );
  const printed = await ended.promise;
  const text = await readFile(output, 'utf8').catch(() => undefined);
  if (text === undefined) throw new Error(`${files.join(' ')} did not run: ${printed.slice(-2_000)}`);
  const { numTotalTests, testResults } = JSON.parse(text) as Report; // written by Vitest
  if (numTotalTests === 0) throw new Error(`${files.join(' ')} has no test that could run`);
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'failed')
    .map(({ fullName }) => fullName);
}
