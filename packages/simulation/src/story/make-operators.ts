import { models } from '../service/names.ts';
import type { Random } from '../world/random.ts';
import type { CallerPlan, FaultPlan, OperatorPlan, Scenario } from './scenario.ts';

/**
 * Now and then an operator stops or empties a queue, when somebody waits in it. Each queue has one, who alone lets it go on. None stops a queue of a
 * store that forgets: it would forget that the queue was to go on.
 */
export function makeOperators(
  random: Random,
  callers: readonly CallerPlan[],
  faults: readonly FaultPlan[],
): Pick<Scenario, 'operators'> {
  if (!random.happens(0.15)) return {};
  const forgets = faults.some(({ kind }) => kind === 'forget');
  const operators = Object.values(models).flatMap((model): OperatorPlan[] => {
    const own = random.fork(model);
    const inQueue = callers.filter((caller) => caller.model === model);
    const asked = inQueue[own.between(0, Math.max(inQueue.length - 1, 0))];
    if (!asked || own.happens(0.4)) return [];
    const pausesForMs = forgets ? 0 : own.pick([0, own.skewed(500), own.between(1_000, 8_000)]);
    const drains = pausesForMs === 0 || own.happens(0.5);
    return [{ atMs: asked.atMs + own.skewed(200), model, pausesForMs, drains }];
  });
  return operators.length > 0 ? { operators } : {};
}
