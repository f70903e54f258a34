import type { CallerPlan, Scenario } from './scenario.ts';

/** Most scenarios that are tried for a shorter one. */
const mostTries = 300;

/**
 * Leaves out of a scenario what it fails without: callers, faults, what callers do, and calls of the upstream, one after
 * the other, for as long as the rest still fails.
 */
export async function shorten(
  scenario: Scenario,
  fails: (shorter: Scenario) => Promise<boolean>,
): Promise<Scenario> {
  let shortest = scenario;
  let tries = 0;
  for (let isShorter = true; isShorter; ) {
    isShorter = false;
    for (const shorter of shorterOnes(shortest)) {
      if ((tries += 1) > mostTries) return shortest;
      if (!(await fails(shorter))) continue;
      shortest = shorter;
      isShorter = true;
      break;
    }
  }
  return shortest;
}

function* shorterOnes(scenario: Scenario): Generator<Scenario> {
  const { callers, faults } = scenario;
  // Halves first: most of a scenario has nothing to do with its failure.
  for (const half of halves(callers)) yield { ...scenario, callers: half };
  for (const half of halves(faults)) yield { ...scenario, faults: half };
  for (const fewer of without(faults)) yield { ...scenario, faults: fewer };
  for (const fewer of without(callers)) if (fewer.length > 0) yield { ...scenario, callers: fewer };
  const { operators = [] } = scenario;
  for (const fewer of without(operators)) yield { ...scenario, operators: fewer };
  for (const shorter of withShorterBatches(scenario)) yield shorter;
  for (const plainer of plainerOnes(scenario)) yield plainer;
  for (const [at, caller] of callers.entries()) {
    for (const simpler of simplerOnes(caller)) yield { ...scenario, callers: callers.with(at, simpler) };
  }
}

/** Services that have less. */
function* plainerOnes(scenario: Scenario): Generator<Scenario> {
  if (scenario.keepsRecords) yield { ...scenario, keepsRecords: false };
  if (scenario.cells !== undefined) {
    const { cellChange: _, ...unchanged } = scenario;
    yield { ...unchanged, cells: 1 };
    if (scenario.cellChange) yield unchanged;
  }
  if (scenario.hasTwoReleases === true) yield { ...scenario, hasTwoReleases: false };
  if (scenario.hasWebhooks === true) yield { ...scenario, hasWebhooks: false };
  if (scenario.hasPools === true) yield { ...scenario, hasPools: false };
  // Each release needs its own, and so does each model of a pool.
  const least = scenario.hasTwoReleases === true ? 2 : 1;
  if (scenario.apis > least) yield { ...scenario, apis: scenario.apis - 1 };
  if (scenario.workers > (scenario.hasPools === true ? 2 : least))
    yield { ...scenario, workers: scenario.workers - 1 };
}

function* withShorterBatches(scenario: Scenario): Generator<Scenario> {
  const { batches = [], ...others } = scenario;
  if (batches.length === 1) yield others;
  for (const fewer of without(batches)) if (fewer.length > 0) yield { ...scenario, batches: fewer };
  for (const [at, batch] of batches.entries()) {
    const put = (lines: typeof batch.lines) => ({
      ...scenario,
      batches: batches.with(at, { ...batch, lines }),
    });
    for (const lines of [...halves(batch.lines), ...without(batch.lines)])
      if (lines.length > 0) yield put(lines);
  }
}

function* simplerOnes(caller: CallerPlan): Generator<CallerPlan> {
  for (const acts of without(caller.acts)) yield { ...caller, acts };
  if (caller.follows !== undefined) {
    const { follows: _, ...alone } = caller;
    yield alone;
  }
  if (caller.idempotencyKey !== undefined) yield { ...caller, idempotencyKey: undefined };
  const [first, ...later] = caller.calls;
  for (const fewer of without(later)) yield { ...caller, calls: [first, ...fewer] };
}

function* halves<T>(list: readonly T[]): Generator<T[]> {
  if (list.length < 4) return;
  const middle = list.length >> 1;
  yield list.slice(0, middle);
  yield list.slice(middle);
}

function* without<T>(list: readonly T[]): Generator<T[]> {
  for (let at = 0; at < list.length; at += 1) yield list.toSpliced(at, 1);
}
