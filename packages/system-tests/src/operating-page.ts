import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bareEnvironment } from './sluice-process.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const operatingPage = readFileSync(join(root, 'docs/operating.md'), 'utf8');

/** The figure of a row of the page's tables, which a test holds. */
export function pageFigure(row: string): number {
  const line = operatingPage.split('\n').find((each) => each.startsWith(`| ${row} `));
  if (line === undefined) throw new Error(`the page has no row '${row}'`);
  return Number(line.split('|')[2]?.replaceAll(',', ''));
}

/** Commands of the page, as one block of it shows them. */
export interface PageBlock {
  /** The nearest heading above the block, of any depth. */
  heading: string;
  commands: string;
}

/** Every block of shell commands on the page, in order. */
export const pageBlocks: readonly PageBlock[] = blocksIn(operatingPage);

const needed = ['redis-server', 'redis-cli', 'redis-check-rdb'];

/** Whether the programs that the commands of the page call are on the PATH. */
export const hasPagePrograms = needed.every((program) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program))),
);

/** Runs the blocks of the page in a shell, with `sluice` as a command and nothing of the tester's environment. */
export interface PageShell {
  /** An empty folder, where the commands run. */
  directory: string;
  /** Runs every block under a heading as it stands. Resolves with what they print; rejects when a command fails. */
  run: (heading: string, variables: Record<string, string>) => Promise<string>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

export async function openPageShell(): Promise<PageShell> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-operating-'));
  const program = join(directory, 'sluice');
  const main = join(root, 'apps/sluice/dist/main.js');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  await chmod(program, 0o755);
  const { PATH = '', ...rest } = bareEnvironment();
  return {
    directory,
    async run(heading, variables) {
      const blocks = pageBlocks.filter((block) => block.heading === heading);
      if (blocks.length === 0) throw new Error(`the page has no commands under '${heading}'`);
      const commands = blocks.map((block) => block.commands).join('');
      const { stdout } = await promisify(execFile)('sh', ['-euc', commands], {
        cwd: directory,
        env: { ...rest, PATH: `${directory}${delimiter}${PATH}`, ...variables },
      });
      return stdout;
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

function blocksIn(page: string): PageBlock[] {
  let heading = '';
  const blocks: PageBlock[] = [];
  for (const [, title, commands] of page.matchAll(/^#+ (.+)$|^```sh\n([\s\S]*?)^```$/gm)) {
    if (commands === undefined) heading = title ?? '';
    else blocks.push({ heading, commands });
  }
  return blocks;
}
