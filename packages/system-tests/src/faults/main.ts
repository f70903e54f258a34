import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleCommand, hasServer, terminalProgress } from '@sluice/testing';
import { parseCommandLine, usage } from './command-line.ts';
import { runFaults } from './run-faults.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const options = parseCommandLine(process.argv.slice(2), `${root}docs/faults.md`);
if (options === 'help') {
  console.log(usage);
} else if (!hasServer) {
  console.error(
    'There is no redis-server or valkey-server on the PATH, and nothing else can be killed and frozen.',
  );
  process.exitCode = 1;
} else {
  const progress = terminalProgress(process.stderr);
  if (options.build) {
    progress.say('bundling the command');
    await bundleCommand();
  }
  const { page, violations } = await runFaults(options, progress);
  progress.clear();
  for (const violation of violations) console.error(`\nVIOLATION ${violation}`);
  if (options.output === undefined) console.log(page);
  else await writeFile(options.output, page);
  if (violations.length > 0) {
    console.error(`\n${violations.length} violations. Seed ${options.seed}.`);
    process.exitCode = 1;
  }
}
