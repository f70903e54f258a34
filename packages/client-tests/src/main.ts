// Runs the tests of the clients:
//   npm run test:clients                       all, and checks docs/tested-clients.md
//   npm run test:clients -- --update-table     all, and writes docs/tested-clients.md
//   npm run test:clients -- langchain          what vitest takes: the table is left alone
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readResults } from './client-results.ts';
import { clientsPage } from './clients-page.ts';
import { clientsDirectory, testedClients } from './tested-clients.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = new URL('../../../docs/tested-clients.md', import.meta.url);

process.exitCode = main(process.argv.slice(2));

function main(args: readonly string[]): number {
  const isUpdating = args.includes('--update-table');
  const filters = args.filter((arg) => arg !== '--update-table');
  const reports = mkdtempSync(join(tmpdir(), 'sluice-clients-'));
  const report = join(reports, 'report.json');
  try {
    installClients();
    // The processes run the built service, and the tests are checked as the rest of the workspace is. npm has put the
    // programs of the workspace on the PATH.
    const code =
      run('tsc', ['-b'], root) ||
      run('tsc', ['-p', 'packages/client-tests/clients'], root) ||
      run(
        'vitest',
        [
          'run',
          '--config=packages/client-tests/vitest.config.ts',
          '--reporter=default',
          '--reporter=json',
          `--outputFile.json=${report}`,
          ...filters,
        ],
        root,
      );
    if (code !== 0 || filters.length > 0) return code;
    return settlePage(readFileSync(report, 'utf8'), isUpdating);
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

/** Installs the clients unless they are those of the lock file. */
function installClients(): void {
  const lock = createHash('sha256')
    .update(readFileSync(new URL('package-lock.json', clientsDirectory)))
    .digest('hex');
  const mark = new URL('node_modules/.installed-from', clientsDirectory);
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return;
  const code = run('npm', ['ci', '--no-fund', '--no-audit'], fileURLToPath(clientsDirectory));
  if (code !== 0) throw new Error(`the clients could not be installed: npm ended with ${code}`);
  writeFileSync(mark, lock);
}

/** Compares the page with what the tests found, or writes it. Returns an exit code. */
function settlePage(report: string, isUpdating: boolean): number {
  const written = existsSync(page) ? readFileSync(page, 'utf8') : '';
  const found = clientsPage(testedClients(), readResults(report), written);
  if (found === written) return 0;
  if (isUpdating) {
    writeFileSync(page, found);
    console.log('docs/tested-clients.md was written.');
    return 0;
  }
  console.error('docs/tested-clients.md says something else than these tests:');
  const before = new Set(written.split('\n'));
  const after = new Set(found.split('\n'));
  for (const line of before) if (!after.has(line)) console.error(`- ${line}`);
  for (const line of after) if (!before.has(line)) console.error(`+ ${line}`);
  console.error('`npm run test:clients -- --update-table` writes it.');
  return 1;
}

function run(command: string, args: readonly string[], cwd: string): number {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (error) throw error;
  return status ?? 1;
}
