/**
 * Runs alternatives in turns and returns the results of each, round by round. Other work of the machine then affects all
 * of them alike. Each round begins with another alternative, because the first one after a pause has an advantage.
 */
export async function alternate<Name, Result>(
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

/** The ratio of two alternatives in each round. */
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
