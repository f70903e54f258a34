/**
 * Runs alternatives in turns, so that whatever else the machine does falls on all of them, and returns what each gave,
 * round by round. Every round begins with another one: the first after a pause has an easier start.
 */
export async function alternate<Name extends string, Result>(
  alternatives: ReadonlyMap<Name, () => Promise<Result>>,
  rounds: number,
): Promise<Map<Name, Result[]>> {
  const results = new Map<Name, Result[]>();
  const names = [...alternatives.keys()];
  for (let round = 0; round < rounds; round += 1) {
    const shift = round % names.length;
    for (const name of [...names.slice(shift), ...names.slice(0, shift)]) {
      const run = alternatives.get(name);
      if (!run) continue;
      const result = await run();
      const known = results.get(name);
      if (known) known.push(result);
      else results.set(name, [result]);
    }
  }
  return results;
}

/** The quotient of two alternatives in each round. */
export function ratios<Result>(
  over: readonly Result[],
  under: readonly Result[],
  figure: (result: Result) => number,
): number[] {
  return over.flatMap((result, round) => {
    const other = under[round];
    return other === undefined ? [] : [figure(result) / figure(other)];
  });
}
