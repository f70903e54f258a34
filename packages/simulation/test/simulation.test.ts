import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const folder = fileURLToPath(new URL('found', import.meta.url));
const found = readdirSync(folder).map((name) => `${folder}/${name}`);

/** How many seeds, and from which on. */
const seeds = 100;
const from = 100;
/** The last ones of them, which are run twice. */
const again = 4;

/** The simulation replaces the clock of its process, so it has one of its own. */
async function simulate(...args: string[]): Promise<string[]> {
  const flags = ['--conditions=sluice-source', main, '--digests', ...args];
  // It ends with 1 when something failed, and has said what.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, flags).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return [...stdout.split('\n'), stderr];
}

const digestsIn = (lines: readonly string[]) => lines.filter((line) => /^\d+ [0-9a-f]{16}$/.test(line));

/** They compute all of the time, and share the processor with other tests. */
const withinMs = 900_000;

describe('the service in simulated time', { timeout: withinMs }, () => {
  // Two processes, whose code is warm soon: a cold one takes three times as long. One alone would take longer than all other tests.
  let lines: string[];
  beforeAll(async () => {
    const half = seeds / 2;
    const scenarios = found.flatMap((file) => ['--scenario', file]);
    const crowds = ['--crowd', 'shares', '--crowd', 'minutes'];
    const both = await Promise.all([
      simulate('--seeds', `${half}`, '--from', `${from}`, ...scenarios, ...crowds),
      simulate('--seeds', `${half}`, '--from', `${from + half}`),
    ]);
    lines = both.flat();
  }, withinMs);

  /** The figures of a crowd. */
  const figures = (name: string) =>
    JSON.parse(lines.find((line) => line.startsWith(`{"${name}"`)) ?? '{}') as Record<string, number>;

  it('keeps its promises over a number of seeds', () => {
    const totals = lines.filter((line) => / seeds, \d+ failed: /.test(line));
    expect(totals.map((line) => line.split(':')[0])).toEqual(Array(2).fill(`${seeds / 2} seeds, 0 failed`));
  });

  it('keeps its promises where it did not before', () => {
    expect(found.length).toBeGreaterThan(0);
    const told = lines.filter((line) => found.includes(line) || line.startsWith('PROBLEM'));
    expect(told).toEqual(found);
  });

  it('has the same history twice for the same seeds', async () => {
    expect(digestsIn(lines)).toHaveLength(seeds);
    // Others came before these in their process, and none before the first of them in this one: a world leaves nothing to the next.
    const twice = await simulate('--seeds', `${again}`, '--from', `${from + seeds - again}`);
    expect(digestsIn(twice)).toEqual(digestsIn(lines).slice(-again));
  });

  it('shares a model by the weights of tenants, of whom one is in all cells and the other in one', () => {
    const { heavyPart } = figures('heavyPart');
    expect(heavyPart).toBeGreaterThan(0.75 * 0.95);
    expect(heavyPart).toBeLessThan(0.75 * 1.05);
  });

  it('accepts no more than a limit of a minute over three cells and four apis, and nearly as much', () => {
    const { most, inAll } = figures('most');
    expect(most).toBeLessThanOrEqual(45);
    expect(inAll).toBeGreaterThanOrEqual(0.95 * 3 * 45);
  });
});
