import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseCommandLine, usage } from './command-line.ts';
import { bundleCommand, terminalProgress } from '@sluice/testing';
import { pictureFolder } from './page.ts';
import { runBench } from './run-bench.ts';

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
  const { page, pictures } = await runBench({
    ...options,
    redisUrl: redisUrl === '' ? undefined : redisUrl,
    progress,
  });
  if (options.output === undefined) console.log(page);
  else {
    const folder = join(dirname(options.output), pictureFolder);
    await mkdir(folder, { recursive: true });
    await writeFile(options.output, page);
    for (const { file, svg } of pictures) await writeFile(join(folder, file), svg);
  }
}
