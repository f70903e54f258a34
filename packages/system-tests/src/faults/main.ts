import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleCommand, hasServer, terminalProgress } from '@sluice/testing';
import { parseCommandLine, usage } from './command-line.ts';
import { renewSections } from './faults-page.ts';
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
  const { page, sections, violations } = await runFaults(options, progress);
  progress.clear();
  for (const violation of violations) console.error(`\nVIOLATION ${violation}`);
  if (options.output === undefined) console.log(page);
  else if (options.renews) {
    await writeFile(options.output, renewSections(await readFile(options.output, 'utf8'), sections));
  } else await writeFile(options.output, page);
  if (violations.length > 0) {
    console.error(`\n${violations.length} violations. Seed ${options.seed}.`);
    process.exitCode = 1;
  }
}
