import { mostNarrow, mostRunning, models, tenants } from '../service/names.ts';
import { isDrained } from './check-queues.ts';
import type { History } from './history.ts';
import type { CallEnd, CallerPlan, FaultPlan, PromptPlan, Scenario } from './scenario.ts';
import type { SimulatedCaller } from './simulated-caller.ts';
import { limitedForMs, type UpstreamCall } from './upstream.ts';

/** Holds the calls of the upstreams against what is promised of them. */
export function checkCalls(history: History): string[] {
  return [
    ...checkGrants(history),
    ...checkLimits(history),
    ...checkOverlaps(history),
    // The job of another release waits outside of its queue for a while, whatever its turn is. Tenants of two cells are in two queues.
    ...(history.scenario.hasTwoReleases === true || history.scenario.cells !== undefined
      ? []
      : checkTurns(history)),
    ...checkParks(history),
    ...checkAbandoned(history),
  ];
}

function hasOnly({ scenario }: History, ...kinds: FaultPlan['kind'][]): boolean {
  return scenario.faults.every(({ kind }) => kinds.includes(kind));
}

function hasCall({ scenario }: History, wanted: CallEnd): boolean {
  const asked = [...scenario.callers, ...(scenario.batches ?? []).flatMap(({ lines }) => lines)];
  return asked.some(({ calls }) => calls.some(({ end }) => end === wanted));
}

/** Faults may take so long in all before a response may have waited too long, in milliseconds. */
const longMs = 15_000;

/** How long a connection is silent before its process leaves it, in milliseconds. */
const silentMs = 5_000;

/** An upstream that limits a response more often than this is closed to all, each time for longer, for all the time that a response has. */
const mostLimited = 2;

function isClosedForLong({ upstream }: History): boolean {
  const limited = upstream.calls.filter(({ planned }) => planned === 'limited');
  return [...Map.groupBy(limited, ({ responseId }) => responseId).values()].some(
    ({ length }) => length > mostLimited,
  );
}

/** Whether something takes so long that a response may run out of time: upstreams that hang, crash or stay closed, and long faults. */
export function takesLong(history: History): boolean {
  const { faults, operators } = history.scenario;
  if (hasCall(history, 'hang') || hasCall(history, 'crash') || isClosedForLong(history)) return true;
  const pausedMs = (operators ?? []).reduce((sum, { pausesForMs }) => sum + pausesForMs, 0);
  const inAll = faults.reduce((sum, fault) => {
    if ('forMs' in fault) return sum + fault.forMs;
    return sum + ('downMs' in fault ? fault.downMs : silentMs);
  }, pausedMs);
  return inAll > longMs;
}

/** A store may be away for so long in all, and what runs completes in the call that was open, in milliseconds. */
const outageMs = 8_000;

/**
 * A response that nothing went wrong for completes in one call, or in two if the first one failed before it said anything. A
 * connection that is cut costs no response and no call, and neither does one of an api that gets no answers any more.
 */
export function checkCompletion(
  history: History,
  { plan, isAccepted }: SimulatedCaller,
  end: { status: string; error: { code: string } | null; calls: number },
): string[] {
  const { scenario } = history;
  if (plan.acts.length > 0 || hasCall(history, 'crash') || isDrained(history, plan)) return [];
  const areSmall = scenario.faults.every((fault) => isSmall(fault, plan));
  const frozenMs = scenario.faults.reduce(
    (sum, fault) => sum + (fault.kind === 'freeze' ? fault.forMs : 0),
    0,
  );
  if (!areSmall || frozenMs > outageMs || (scenario.faults.length > 0 && !isAccepted)) return [];
  // Others that hang, or have the upstream closed, may take all the time that a response has to wait.
  if (end.error?.code === 'timeout' && (hasCall(history, 'hang') || isClosedForLong(history))) return [];
  const most = callsToComplete(plan);
  if (most === undefined || (end.status === 'completed' && end.calls <= most)) return [];
  return [`it should complete, and is ${end.status} (${end.error?.code}) after ${end.calls} calls`];
}

/** Whether nothing goes wrong, and nobody keeps an upstream from others or ends what waits. */
export function isQuiet(history: History): boolean {
  const { faults, operators } = history.scenario;
  return faults.length === 0 && !operators && !takesLong(history);
}

/** In how many calls a response completes; undefined where its upstream keeps it from that. */
export function callsToComplete({ calls: [first, second] }: PromptPlan): number | undefined {
  if (first.end === 'finish') return 1;
  const isTried = first.tokens === 0 && (first.end === 'refused' || first.end === 'broken');
  return isTried && second?.end === 'finish' ? 2 : undefined;
}

/** Whether a fault costs a response no call and no end, as far as it is not long. */
function isSmall(fault: FaultPlan, plan: CallerPlan): boolean {
  switch (fault.kind) {
    case 'cut':
    case 'lose a reply':
    case 'slow':
    case 'freeze':
      return true;
    case 'stop':
      return isSpared(plan, fault.process);
    case 'lose replies':
    case 'silence':
      return fault.process.startsWith('api');
    default:
      return false;
  }
}

/** A process that stops lets a call come to its end that takes no longer than this, in milliseconds. */
const finishedWithinMs = 3_000;

/** Whether a process that stops costs a response nothing: it is short, and its caller can come back. */
function isSpared({ mode, idempotencyKey, calls }: CallerPlan, process: string): boolean {
  const isShort = calls.every(
    ({ firstMs, betweenMs, tokens }) => firstMs + tokens * betweenMs < finishedWithinMs,
  );
  const canReturn = mode !== 'synchronous' || idempotencyKey !== undefined;
  return isShort && (canReturn || process.startsWith('worker'));
}

/** An outage of the store costs no run: while its worker lives and reaches the store when others do, nobody else runs it. */
function checkOverlaps(history: History): string[] {
  const { calls } = history.upstream;
  if (!hasOnly(history, 'kill', 'stop', 'cut', 'lose a reply', 'slow', 'freeze')) return [];
  return [...Map.groupBy(calls, ({ responseId }) => responseId).values()].flatMap((ofResponse) =>
    ofResponse.flatMap((call, at) => {
      const running = ofResponse.slice(0, at).find((other) => endOf(other) > call.fromMs);
      return running
        ? [`${call.caller} runs in ${call.process} while it runs in ${running.process}, which lives`]
        : [];
    }),
  );
}

/** When workers have set the limits again in a store that has lost them, in milliseconds. */
const limitsWithinMs = 6_000;

/**
 * While no process loses touch, no limit of what runs at a time is exceeded. A clock that is set back keeps BullMQ from renewing its
 * locks (its `LockManager` compares times of the wall clock), so the limit of a model does not hold then.
 */
function checkLimits(history: History): string[] {
  if (!hasOnly(history, 'kill', 'stop', 'cut', 'lose a reply', 'slow', 'forget', 'empty')) return [];
  const knownSince = Math.max(0, ...history.losses.map(({ toMs }) => toMs + limitsWithinMs));
  const calls = history.upstream.calls.filter(({ fromMs }) => fromMs >= knownSince);
  return [
    ...exceeded(
      calls.filter(({ tenant }) => tenant === tenants.limited),
      mostOfLimited(history.scenario),
      'the limited tenant',
    ),
    ...exceeded(
      calls.filter(({ model }) => model === models.narrow),
      mostNarrow,
      'the narrow model',
    ),
  ];
}

/**
 * How many calls of the limited tenant run at a time. One that moves has its limits anew in its new cells for as long as something of it is in the former
 * one, and all of them there while it continues conversations of that.
 */
function mostOfLimited({ cellChange, callers }: Scenario): number {
  if (cellChange === undefined) return mostRunning;
  return callers.some(({ follows }) => follows !== undefined) ? 2 * mostRunning : mostRunning + 1;
}

/** What the cells are granted of the limit of a model is never more than the limit. */
function checkGrants({ service, losses }: History): string[] {
  if (losses.length > 0) return [];
  const { networks, keys } = service;
  const key = `${keys.inCell(0).prefix}slots:${models.narrow}`;
  const reply = networks[0]?.ask('HVALS', key);
  const granted = Array.isArray(reply) ? reply.map(Number) : [];
  const sum = granted.reduce((all, each) => all + each, 0);
  return sum > mostNarrow
    ? [`the cells are granted ${granted.join(' and ')} of a limit of ${mostNarrow}`]
    : [];
}

function exceeded(calls: readonly UpstreamCall[], most: number, name: string): string[] {
  return calls.flatMap(({ fromMs, caller }) => {
    const running = calls.filter((other) => other.fromMs <= fromMs && endOf(other) > fromMs);
    return running.length > most
      ? [`${running.length} calls of ${name} run at once when ${caller} begins`]
      : [];
  });
}

/** How many more responses of one tenant than of another are called for while both wait. */
const mostAhead = 3;

/**
 * Tenants take turns in a busy model: from any moment on until one begins that waits, no more of another tenant begin than of
 * its own. The limited tenant waits for its places, too.
 */
function checkTurns(history: History): string[] {
  const { scenario, callers } = history;
  if (scenario.faults.length > 0 || scenario.operators) return [];
  const inLine = callers.filter(({ plan }) => plan.model === models.narrow);
  if (inLine.some(({ plan }) => plan.acts.length > 0)) return [];
  const begins = new Map<string, UpstreamCall>();
  for (const call of history.upstream.calls) {
    if (call.model === models.narrow && !begins.has(call.caller)) begins.set(call.caller, call);
  }
  const inOrder = [...begins.values()];
  return inLine.flatMap(({ plan, acceptedMs }) => {
    const own = begins.get(plan.name);
    if (!own || plan.tenant === tenants.limited || acceptedMs === undefined) return [];
    let ahead = 0;
    for (const { fromMs, tenant } of inOrder.slice(0, inOrder.indexOf(own)).toReversed()) {
      if (fromMs <= acceptedMs) break;
      if (tenant === plan.tenant) ahead -= 1;
      else if (tenant !== tenants.limited) ahead += 1;
      if (ahead > mostAhead)
        return [`${plan.name} waits for ${ahead} more calls of another tenant than of its own`];
    }
    return [];
  });
}

/** A park may be early by so many milliseconds, because timers count whole ones. */
const earlyMs = 2;

/**
 * A process that was limited leaves its upstream alone for as long as that asked for, at the first call of a response. One that
 * an upstream refuses again while it answers others holds back nobody else.
 */
function checkParks({ upstream }: History): string[] {
  const seen = new Set<string>();
  const limited = upstream.calls.filter(({ planned, responseId }) => {
    if (planned !== 'limited' || seen.has(responseId)) return false;
    seen.add(responseId);
    return true;
  });
  return limited.flatMap(({ process, startedMs, model, tenant, isOver, toMs = 0 }) => {
    if (!isOver) return [];
    const early = upstream.calls.find(
      (call) =>
        call.process === process &&
        call.startedMs === startedMs &&
        call.model === model &&
        call.tenant === tenant &&
        call.fromMs > toMs + earlyMs &&
        call.fromMs < toMs + limitedForMs - earlyMs,
    );
    return early
      ? [`${process} calls for ${early.caller} ${early.fromMs - toMs} ms after it was limited`]
      : [];
  });
}

/** How long what nobody waits for may go on, and how long it may take until it cannot begin any more, in milliseconds. */
const goneWithinMs = { running: 12_000, queued: 17_000 };

/** A response whose only caller is gone is ended, and its call with it. */
function checkAbandoned(history: History): string[] {
  if (!hasOnly(history, 'kill', 'stop', 'cut', 'lose a reply')) return [];
  return history.callers.flatMap(({ plan, doneMs, responseId }, at) => {
    const isGone = history.fates[at]?.kind === 'gone';
    if (!isGone || plan.mode !== 'synchronous' || plan.idempotencyKey !== undefined) return [];
    const sinceMs = Math.max(doneMs, history.faultsOverMs);
    return history.upstream.callsOf(plan.name).flatMap((call) => {
      if (call.fromMs > sinceMs + goneWithinMs.queued)
        return [`${plan.name} begins long after its caller left`];
      const isLate = endOf(call) > Math.max(sinceMs, call.fromMs) + goneWithinMs.running;
      return isLate ? [`${plan.name} (${responseId}) goes on long after its caller left`] : [];
    });
  });
}

function endOf({ toMs }: UpstreamCall): number {
  return toMs ?? Number.POSITIVE_INFINITY;
}
