import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const found = fileURLToPath(new URL('found', import.meta.url));

/** The simulation replaces the clock of its process, so it has one of its own. */
async function simulate(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=sluice-source', main, ...args],
    {
      maxBuffer: 2 ** 26,
    },
  );
  return stdout;
}

/** They compute all of the time, and share the processor with other tests. */
const withinMs = 120_000;

describe('the service in simulated time', { timeout: withinMs }, () => {
  it('has the same history twice for the same seeds', async () => {
    const digests = (printed: string) =>
      printed.split('\n').filter((line) => /^\d+ [0-9a-f]{16}$/.test(line));
    const [one, other] = await Promise.all([
      simulate('--seeds', '4', '--digests'),
      simulate('--seeds', '4', '--digests'),
    ]);
    expect(digests(one)).toHaveLength(4);
    expect(digests(other)).toEqual(digests(one));
    // A world leaves nothing to the next one in its process.
    const alone = digests(await simulate('--seeds', '1', '--from', '3', '--digests'));
    expect(alone).toEqual(digests(one).slice(3));
  });

  it('keeps its promises over a number of seeds', async () => {
    expect(await simulate('--seeds', '20', '--from', '100')).toContain('20 seeds, 0 failed');
  });

  it('keeps its promises where it did not before', async () => {
    const files = readdirSync(found).map((name) => `${found}/${name}`);
    const printed = await simulate(...files.flatMap((file) => ['--scenario', file]));
    const told = printed.split('\n').filter((line) => files.includes(line) || line.startsWith('PROBLEM'));
    expect(told).toEqual(files);
  });
});
