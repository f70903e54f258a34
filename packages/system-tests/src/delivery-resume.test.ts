import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DeliverySite, startDeliverySite } from './delivery-site.ts';
import { measureCuts } from './measure-cuts.ts';
import { measureReaders } from './measure-readers.ts';

/** How many streams are cut. The measurement cuts more, which takes a minute. */
const streams = Number(process.env['SLUICE_CUT_STREAMS'] ?? 150);

let site: DeliverySite;

beforeAll(async () => {
  site = await startDeliverySite();
});
afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
});

it('streams that are cut at any byte and resumed on the other api show the log, without gap or repeat', async () => {
  const result = await measureCuts(site, { streams, cutsEach: 4, atATime: 50, seed: Date.now() });
  expect(result).toMatchObject({ gaps: 0, repeats: 0, differences: 0, violations: 0, first: undefined });
  expect(result.cuts).toBeGreaterThan(2 * streams);
});

it('twenty readers of one stream, each from another offset, see the same bytes', async () => {
  const { differing } = await measureReaders(site, { readers: 20, stalled: 0, pieces: 2_000 });
  expect(differing).toBe(0);
});

it('a reader that stops costs at most 256 KiB, and the others get everything', async () => {
  const { differing, bytesEach } = await measureReaders(site, { readers: 2, stalled: 40, pieces: 40_000 });
  expect(differing).toBe(0);
  expect(bytesEach).toBeLessThan(256 * 1024);
});
