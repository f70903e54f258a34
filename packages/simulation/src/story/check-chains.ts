import { type ReadResponse, textOf } from './check-response.ts';
import type { History } from './history.ts';
import type { SimulatedCaller } from './simulated-caller.ts';

/** A response that continues others is sent what they were asked and what they said, all of it and in that order. */
export function checkChains(history: History): string[] {
  return history.callers.flatMap((caller, at) => {
    const { plan, previous } = caller;
    if (!previous) return [];
    const fate = history.fates[at];
    // A store that has forgotten something may have forgotten what it continues.
    const isLost = fate?.kind === 'refused' && fate.status < 500 && history.losses.length === 0;
    const problems = isLost ? [`${plan.name} continues ${previous.responseId} and is told ${fate.code}`] : [];
    // A store that has forgotten an end runs the response again, and keeps what it says then.
    const hasOther = history.losses.some(({ sparesTold }) => !sparesTold);
    const said = ancestorsOf(caller).flatMap((turn) => [
      `prompt of ${turn.plan.name}"`,
      ...(hasOther ? [] : [toldText(history, turn)]),
    ]);
    for (const { asked, responseId } of history.upstream.callsOf(plan.name)) {
      let from = 0;
      for (const part of said) {
        const found = asked.indexOf(part, from);
        if (found < 0) {
          problems.push(
            `${plan.name} (${responseId}) is sent without '${part.slice(0, 100)}', or not in its place`,
          );
          break;
        }
        from = found + part.length;
      }
    }
    return problems;
  });
}

/** The turns that it continues, the first one first. */
function ancestorsOf({ previous }: SimulatedCaller): SimulatedCaller[] {
  return previous ? [...ancestorsOf(previous), previous] : [];
}

/** The text that a caller was told, as it stands in JSON. */
function toldText({ callers, fates }: History, caller: SimulatedCaller): string {
  const fate = fates[callers.indexOf(caller)];
  if (fate?.kind !== 'ended') throw new Error(`${caller.plan.name} is continued, and was told no end`);
  const { output } = JSON.parse(fate.json) as ReadResponse; // as it was told
  return JSON.stringify(textOf(output)).slice(1, -1);
}
