import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

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
const withinMs = 300_000;

/** The figures that a crowd prints, before any problem. */
const figuresIn = (text: string): unknown => JSON.parse(text.split('\n')[0] ?? '');

const digests = (text: string) => text.split('\n').filter((line) => /^\d+ [0-9a-f]{16}$/.test(line));

describe('the service in simulated time', { timeout: withinMs }, () => {
  let seeds: string;
  beforeAll(async () => {
    seeds = await simulate('--seeds', '24', '--from', '100', '--digests');
  }, withinMs);

  it('keeps its promises over a number of seeds', () => {
    expect(seeds).toContain('24 seeds, 0 failed');
  });

  it('has the same history twice for the same seeds', async () => {
    expect(digests(seeds)).toHaveLength(24);
    // Others came before these in their process, and none before the first of them in this one: a world leaves nothing to the next.
    const again = digests(await simulate('--seeds', '4', '--from', '120', '--digests'));
    expect(again).toEqual(digests(seeds).slice(20));
  });

  it('shares a model by the weights of tenants, of whom one is in all cells and the other in one', async () => {
    const { heavyPart } = figuresIn(await simulate('--crowd', 'shares')) as { heavyPart: number };
    expect(heavyPart).toBeGreaterThan(0.75 * 0.95);
    expect(heavyPart).toBeLessThan(0.75 * 1.05);
  });

  it('accepts no more than a limit of a minute over three cells and four apis, and nearly as much', async () => {
    const { most, inAll } = figuresIn(await simulate('--crowd', 'minutes')) as {
      most: number;
      inAll: number;
    };
    expect(most).toBeLessThanOrEqual(45);
    expect(inAll).toBeGreaterThanOrEqual(0.95 * 3 * 45);
  });

  it('keeps its promises where it did not before', async () => {
    const files = readdirSync(found).map((name) => `${found}/${name}`);
    const printed = await simulate(...files.flatMap((file) => ['--scenario', file]));
    const told = printed.split('\n').filter((line) => files.includes(line) || line.startsWith('PROBLEM'));
    expect(told).toEqual(files);
  });
});
