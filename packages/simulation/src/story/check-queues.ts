import type { History } from './history.ts';
import type { CallerPlan, FaultPlan } from './scenario.ts';
import type { UpstreamCall } from './upstream.ts';

/** Holds the calls of the upstreams against what operators were told of queues that they stopped or emptied. */
export function checkQueues(history: History): string[] {
  if (!history.scenario.faults.every(({ kind }) => faultsThatWait.includes(kind))) return [];
  return [...checkPauses(history), ...checkDrains(history)];
}

/** Whether an operator cancels what waits in the queue of a caller. */
export function isDrained({ scenario }: History, { model }: CallerPlan): boolean {
  return (scenario.operators ?? []).some((plan) => plan.drains && plan.model === model);
}

/** Under these a worker that was told nothing of a pause loses nothing, and begins nothing. */
const faultsThatWait: readonly FaultPlan['kind'][] = ['kill', 'stop', 'cut', 'lose a reply'];

/** How long a worker may take from a job, which it may take until a queue is paused, to its call, in milliseconds. */
const takenMs = 3_000;

/** No response is begun while its queue is paused. One that has begun may be called for again. */
function checkPauses({ operators, callers, upstream }: History): string[] {
  return operators.flatMap(({ pause }) => {
    if (!pause) return [];
    return callers.flatMap(({ plan }) => {
      const [first] = upstream.callsOf(plan.name);
      const isBegun =
        first &&
        first.model === pause.model &&
        first.fromMs > pause.fromMs + takenMs &&
        first.fromMs < pause.toMs;
      return isBegun
        ? [`${plan.name} begins ${first.fromMs - pause.fromMs} ms after its queue was paused`]
        : [];
    });
  });
}

/** What waited when an operator began to drain a queue is not begun any more when that is over. An api leaves the responses of another release alone. */
function checkDrains({ operators, callers, upstream, scenario }: History): string[] {
  if (scenario.hasTwoReleases === true) return [];
  return operators.flatMap(({ drain }) => {
    if (!drain) return [];
    const isLater = ({ fromMs }: UpstreamCall) => fromMs > drain.toMs + takenMs;
    const isEarlier = ({ toMs = Number.POSITIVE_INFINITY }: UpstreamCall) => toMs < drain.fromMs;
    return callers.flatMap(({ plan, responseId, acceptedMs = Number.POSITIVE_INFINITY }) => {
      if (plan.model !== drain.model || acceptedMs >= drain.fromMs) return [];
      const calls = upstream.callsOf(plan.name).filter((call) => call.responseId === responseId);
      const later = calls.find(isLater);
      // A worker that calls an upstream again has the response all the time.
      const before = calls.findLast(isEarlier);
      const isKept =
        !calls.every((call) => isLater(call) || isEarlier(call)) || before?.process === later?.process;
      return later && !isKept
        ? [`${plan.name} runs ${later.fromMs - drain.toMs} ms after its queue was drained`]
        : [];
    });
  });
}
