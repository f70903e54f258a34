/** The least time on a processor that a measurement takes, in milliseconds: some ticks of the system's accounts. */
const leastMs = 60;

/**
 * How many times longer work on some values takes than parsing them from JSON.
 *
 * It tells work that looks at each value once, which costs about as much as parsing, from work that looks at all the
 * others for each: with thousands of values that costs hundreds of times as much. The speed of the machine cancels out, and
 * the time that this thread has a processor is counted, whoever else wants one. `prepare` is not timed.
 */
export function costAgainstParsing(values: readonly unknown[], prepare: () => () => void): number {
  const json = JSON.stringify(values);
  const parsing = milliseconds(() => () => JSON.parse(json));
  return milliseconds(prepare) / parsing;
}

function milliseconds(prepare: () => () => void): number {
  let runs = 0;
  let inAll = 0;
  while (inAll < leastMs) {
    const work = prepare();
    const begun = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(begun);
    inAll += (user + system) / 1_000;
    runs += 1;
  }
  return inAll / runs;
}
