import { hasServer, patched, workspace } from '@sluice/testing';
import { existsSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cellAt, type Fault, faults, isPromised, nameOf, places } from './matrix.ts';
import { mutants } from './mutants.ts';
import type { Try } from './round.ts';
import { placesFor, startMatrix } from './run-matrix.ts';
import { testedMechanisms } from './tested-mechanisms.ts';

/** Rerun a failure with `npm run test:faults -- --seed <seed> --only '<fault>'`. */
const seed = Date.now() % 1_000_000;

/**
 * Other tests run beside these, and may keep a worker from its processor for seconds, which a short lock takes for its death. How long things take is
 * what `npm run test:faults` finds out, by itself.
 */
const machine = { machineMs: 20_000, lockMs: 8_000 };

describe.skipIf(!hasServer)(`seed ${seed} (needs a server on the PATH)`, () => {
  let matrix: ReturnType<typeof startMatrix>;

  beforeAll(() => {
    matrix = startMatrix({ tries: 1, seed, lanes: 2, ...machine });
  });
  afterAll(async () => {
    await matrix?.done;
  });

  const problemsOf = async (fault: Fault, name: string) => {
    const tries: Try[] = (await matrix.rounds.get(fault)) ?? [];
    const found = tries.filter((each) => each.name === name);
    expect(found).not.toEqual([]);
    return found.flatMap(({ problems }) => problems);
  };

  describe.each(faults)('%s', (fault) => {
    const promised = places.flatMap((place) => {
      const cell = cellAt(place);
      return place.fault === fault && isPromised(cell) ? [{ ...place, promise: cell.promise }] : [];
    });

    it.each(promised)('$moment, $mode: $promise', async ({ promise: _, ...place }) => {
      expect(await problemsOf(fault, nameOf(place))).toEqual([]);
    });

    it('leaves nothing behind', async () => {
      expect(await problemsOf(fault, `${fault} / afterwards`)).toEqual([]);
    });
  });

  it.each(faults.filter((fault) => fault.includes('Redis')))(
    '%s: requests that arrive are refused in time and never run, or are served',
    async (fault) => {
      expect(await problemsOf(fault, `${fault} / arriving`)).toEqual([]);
    },
  );
});

it('has a promise, or a reason why there is none, in every cell', () => {
  for (const place of places) {
    const cell = cellAt(place);
    expect(isPromised(cell) ? cell.promise : cell.cannotHappen, nameOf(place)).toMatch(/^\S.*\S$/);
    if (isPromised(cell)) expect(cell.ends, nameOf(place)).not.toEqual([]);
  }
});

/** Why a source cannot be imported as it is: by its syntax, or else because its imports are not beside it. */
function errorOfImport(source: string): Promise<unknown> {
  const script = stripTypeScriptTypes(source, { mode: 'transform' });
  return import(`data:text/javascript,${encodeURIComponent(script)}`).then(
    () => undefined,
    (error: unknown) => error,
  );
}

it.each(testedMechanisms)('has tests to be run without: $name', async ({ patch, tests }) => {
  const source = await patched(patch);
  if (patch.file.endsWith('.ts')) expect(await errorOfImport(source)).not.toBeInstanceOf(SyntaxError);
  expect(tests.split(' ').filter((file) => !existsSync(join(workspace, file)))).toEqual([]);
});

it.each(mutants)('can still be run without its mechanism: $name', async (mutant) => {
  // The cells are run by hand. A line that moved shows here, and one of a file that is not copied.
  expect(mutant.patch.file).toContain('/src/');
  await expect(patched(mutant.patch)).resolves.toContain(mutant.patch.replace);
  expect(placesFor(mutant.only)).not.toEqual([]);
});
