import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildConsoleBeside } from './console-build.ts';

let folder: string;
let said: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-console-'));
  said = [];
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Builds with a script that does what `code` says. */
async function beside(code: string, isWatched = true): Promise<() => Promise<void>> {
  const script = join(folder, 'build.mjs');
  await writeFile(script, code);
  return buildConsoleBeside({ say: (line) => said.push(line), isWatched, script });
}

describe('the build of the console beside an api', () => {
  it('is told to who watches a terminal, and to nobody else', async () => {
    const begun = "process.send('building'); setInterval(() => {}, 1000);";
    const stop = await beside(begun);
    await vi.waitFor(() => expect(said).toEqual([expect.stringContaining('building the console')]));
    await stop();
    const stopQuiet = await beside(begun, false);
    await stopQuiet();
    expect(said).toHaveLength(1);
  });

  it('is silent when it succeeds, whatever it prints', async () => {
    const file = join(folder, 'done');
    const stop = await beside(
      `console.log('noise'); console.error('noise'); (await import('node:fs')).writeFileSync(${JSON.stringify(file)}, '');`,
    );
    await vi.waitFor(async () => expect(await rm(file)).toBeUndefined(), { timeout: 5_000 });
    await stop();
    expect(said).toEqual([]);
  });

  it('says in one line what to run when it fails', async () => {
    await beside("console.error('a long story'); process.exitCode = 1;", false);
    await vi.waitFor(() =>
      expect(said).toEqual([
        "sluice: the console could not be built; 'npm run build --workspace apps/console' says why",
      ]),
    );
  });

  it('is missed aloud where nothing can build and nothing is built', async () => {
    const say = (line: string) => said.push(line);
    await buildConsoleBeside({ say, isWatched: false, script: null, isBuilt: true })();
    expect(said).toEqual([]);
    await buildConsoleBeside({ say, isWatched: false, script: null, isBuilt: false })();
    expect(said).toEqual([
      expect.stringContaining("'npm ci && npm run build --workspace apps/console' builds it"),
    ]);
  });

  it('ends with the api, and that is no failure', async () => {
    const stop = await beside("process.send('building'); setInterval(() => {}, 1000);");
    await vi.waitFor(() => expect(said).toHaveLength(1));
    await stop();
    await stop();
    expect(said).toHaveLength(1);
  });
});
