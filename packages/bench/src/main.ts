import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseCommandLine, usage } from './command-line.ts';
import { heldCosts, notedCosts, noteCosts, thoroughCosts } from './guard.ts';
import { bundleCommand, terminalProgress } from '@sluice/testing';
import { mergePage } from './merge-page.ts';
import { runBench, scenarioNames } from './run-bench.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const options = parseCommandLine(process.argv.slice(2), `${root}docs/benchmarks.md`);
if (options === 'help') {
  console.log(usage);
} else {
  const progress = terminalProgress(process.stderr);
  if (options.build) {
    progress.say('bundling the command');
    await bundleCommand();
  }
  const redisUrl = process.env['REDIS_URL'];
  const run = (scenarios: readonly string[]) =>
    runBench({ ...options, scenarios, redisUrl: redisUrl === '' ? undefined : redisUrl, progress });
  const { page, costs } = await run(options.scenarios);
  if (options.output === undefined) console.log(page);
  else if (options.keeps === 'nothing') await writeFile(options.output, page);
  else {
    const earlier = await readFile(options.output, 'utf8');
    const isWhole = options.keeps === 'sections';
    await writeFile(options.output, mergePage(earlier, page, { order: scenarioNames, isWhole }));
  }
  const measureAgain = async (scenarios: readonly string[]) => (await run(scenarios)).costs;
  if (options.guard === 'renew') await noteCosts(await thoroughCosts(costs, measureAgain));
  const risen =
    options.guard === 'hold' ? await heldCosts(costs, await notedCosts(), measureAgain) : undefined;
  if (risen !== undefined) {
    console.error(risen);
    process.exitCode = 1;
  }
}
