import type { History } from './history.ts';
import type { CallerPlan, FaultPlan } from './scenario.ts';

/** Holds the calls of the upstreams against what operators were told of queues that they stopped or emptied. */
export function checkQueues(history: History): string[] {
  return [...checkPauses(history), ...checkDrains(history)];
}

/** Whether an operator cancels what waits in the queue of a caller. */
export function isDrained({ scenario }: History, { model }: CallerPlan): boolean {
  return (scenario.operators ?? []).some((plan) => plan.drains && plan.model === model);
}

/** How long a worker may take from a job, which it may take until a queue is paused or drained, to its call, in milliseconds. */
const takenMs = 3_000;

/** Under these a worker goes on with what it has, and begins nothing late. */
const lateBegins: readonly FaultPlan['kind'][] = ['cut', 'lose a reply'];

/** No response is begun while its queue is paused. */
function checkPauses({ operators, callers, upstream, scenario }: History): string[] {
  if (!scenario.faults.every(({ kind }) => kind === 'kill' || kind === 'stop' || lateBegins.includes(kind)))
    return [];
  return operators.flatMap(({ pause }) =>
    callers.flatMap(({ plan }) => {
      if (pause?.model !== plan.model) return [];
      const [first] = upstream.callsOf(plan.name);
      const isBegun = first && first.fromMs > pause.fromMs + takenMs && first.fromMs < pause.toMs;
      return isBegun
        ? [`${plan.name} begins ${first.fromMs - pause.fromMs} ms after its queue was paused`]
        : [];
    }),
  );
}

/**
 * A response that waited when an operator began to drain a queue is not begun any more when that is over. A worker has what it runs until that is over or it
 * dies, also between two calls, and an api leaves the responses of another release alone.
 */
function checkDrains({ operators, callers, upstream, scenario }: History): string[] {
  const crashes = scenario.callers.some(({ calls }) => calls.some(({ end }) => end === 'crash'));
  if (crashes || scenario.hasTwoReleases === true) return [];
  if (!scenario.faults.every(({ kind }) => lateBegins.includes(kind))) return [];
  return operators.flatMap(({ drain }) =>
    callers.flatMap(({ plan, responseId, toldMs = Number.POSITIVE_INFINITY }) => {
      if (drain?.model !== plan.model || toldMs >= drain.fromMs) return [];
      const calls = upstream.callsOf(plan.name).filter((call) => call.responseId === responseId);
      const later = calls.find(({ fromMs }) => fromMs > drain.toMs + takenMs);
      // One that its upstream has limited goes back into its queue, and may find it drained.
      const isKept = calls.some(
        ({ fromMs, toMs = Number.POSITIVE_INFINITY, planned }) =>
          fromMs <= drain.toMs && (planned !== 'limited' || toMs > drain.toMs),
      );
      return later && !isKept
        ? [`${plan.name} runs ${later.fromMs - drain.toMs} ms after its queue was drained`]
        : [];
    }),
  );
}
