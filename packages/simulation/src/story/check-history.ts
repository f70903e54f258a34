import { isTerminal, type Status } from '@sluice/contract';
import type { ReadyApi } from '../service/simulated-service.ts';
import { isNumberLost } from './change-cells.ts';
import { checkBatches } from './check-batches.ts';
import { checkBudgets } from './check-budgets.ts';
import { checkChains } from './check-chains.ts';
import { checkCalls, checkCompletion } from './check-calls.ts';
import { answered, checkDoors, isLostTouch, withoutObject } from './check-doors.ts';
import { checkEndpoints } from './check-endpoints.ts';
import { checkQueues, isDrained } from './check-queues.ts';
import { checkResponse, type ReadResponse } from './check-response.ts';
import type { History } from './history.ts';
import type { Loss } from './inject-faults.ts';
import { list } from './request.ts';
import type { CallerPlan } from './scenario.ts';
import type { Fate, SimulatedCaller } from './simulated-caller.ts';

/** Holds a history against what is promised. Returns what is wrong with it. */
export async function checkHistory(history: History): Promise<string[]> {
  const { callers, fates } = history;
  const all = await readAll(history);
  const stored = Map.groupBy(all, ({ response }) => response.metadata.caller);
  const ofCallers = await Promise.all(
    callers.map(async (caller, at) => {
      const { name, mode } = caller.plan;
      const found = await checkCaller(history, caller, {
        fate: fates[at] ?? { kind: 'gone' },
        own: (stored.get(name) ?? []).map(({ response }) => response),
        doors: new Map(
          (stored.get(name) ?? []).map(({ response, apis }) => [response.id, doorsOf(history, apis, at)]),
        ),
      });
      return found.map((problem) => `${name} (${mode}): ${problem}`);
    }),
  );
  const ofAll = [
    ...checkChains(history),
    ...checkCalls(history),
    ...checkQueues(history),
    ...checkBudgets(history),
  ];
  return [...ofAll, ...ofCallers.flat(), ...(await checkBatches(history))];
}

/** More callers than this are checked at one api each, in turn. */
const mostAtEachApi = 20;

/** The apis at which a response is read, of those that know it. */
function doorsOf({ callers }: History, apis: readonly ReadyApi[], at: number): readonly ReadyApi[] {
  return callers.length <= mostAtEachApi ? apis : apis.slice(at % apis.length, (at % apis.length) + 1);
}

/** A response, and the apis of the release that wrote it. */
interface StoredResponse {
  response: ReadResponse;
  apis: readonly ReadyApi[];
}

async function readAll({ service, callers }: History): Promise<StoredResponse[]> {
  const all: StoredResponse[] = [];
  const { world } = service;
  for (const apis of Map.groupBy(service.apis, ({ release }) => release).values()) {
    const [api] = apis;
    if (!api) continue;
    for (const tenant of new Set(callers.map(({ plan }) => plan.tenant))) {
      const told = await answered(service, () => list({ world, api, plan: { name: 'list', tenant } }));
      if (told.kind !== 'response') throw new Error(`The list is ${JSON.stringify(told)}`);
      const responses = JSON.parse(told.json) as ReadResponse[]; // as `list` prints it
      all.push(...responses.map((response) => ({ response, apis })));
    }
  }
  return all;
}

async function checkCaller(
  history: History,
  caller: SimulatedCaller,
  {
    fate,
    own,
    doors,
  }: { fate: Fate; own: readonly ReadResponse[]; doors: ReadonlyMap<string, readonly ReadyApi[]> },
): Promise<string[]> {
  const { plan } = caller;
  // A store that has lost something has lost nothing of the tenants of another cell.
  const cells = history.service.keys.cellsOf(plan.tenant);
  const touching = history.losses.filter(
    (loss) => cells.includes(loss.cell) && isTouched(caller, fate, loss),
  );
  const losses = touching.length;
  const isTold = touching.every(({ sparesTold }) => sparesTold);
  const calls = history.upstream.callsOf(plan.name);
  // A key may have gone to another cell meanwhile, and the former one has forgotten that it took its response back.
  const mayBeTwo = (losses > 0 || isNumberLost(history, caller.begunMs)) && cells.length > 1;
  const problems = [...(mayBeTwo ? [] : checkKey(plan, own)), ...checkTold(fate, own)];
  const final = own.find(({ id }) => id === caller.responseId) ?? own[0];
  const unknown = calls.find(({ responseId }) => !own.some(({ id }) => id === responseId));
  if (unknown && losses === 0) problems.push(`${unknown.responseId} ran, and is nowhere`);
  if (!final) {
    if (!isTold) return problems;
    if (caller.isAccepted) problems.push(`${caller.responseId} was accepted and is nowhere`);
    if (fate.kind === 'ended') problems.push('it was told an end that nobody knows');
    return problems;
  }
  for (const each of own) {
    const apis = doors.get(each.id) ?? [];
    problems.push(...(await checkOwn(history, caller, { response: each, apis, losses })));
  }
  if (isTold && fate.kind === 'ended') problems.push(...checkEnd(caller, fate, { own, final }));
  if (losses > 0) return problems;
  problems.push(...checkFate(history, caller, fate, final));
  // What was refused may have run for a moment before it was taken back.
  const counted = caller.wasRefused ? calls.filter(({ responseId }) => responseId === final.id) : calls;
  problems.push(...checkCompletion(history, caller, { ...final, calls: counted.length }));
  return problems;
}

/** Holds one of the responses of a caller against what every door, and its upstreams and endpoints, know of it. */
async function checkOwn(
  history: History,
  caller: SimulatedCaller,
  { response, apis, losses }: StoredResponse & { losses: number },
): Promise<string[]> {
  const { plan } = caller;
  const isOwn = caller.responseId === response.id;
  const seen = losses === 0 && isOwn ? caller.events : [];
  // A response that is lost behind the silence runs again, and has another end.
  const isSame = losses <= 1 && !history.losses.some(({ toMs }) => toMs > caller.silentMs);
  const silentBehind = isOwn && isSame ? caller.silentBehind : undefined;
  return [
    ...(await checkDoors(history, apis, { plan, response, seen, silentBehind })),
    ...checkResponse(history, plan, response, losses),
    ...checkEndpoints(history, caller, response),
  ];
}

/** A key makes one response that is kept. */
function checkKey({ idempotencyKey }: CallerPlan, own: readonly ReadResponse[]): string[] {
  // A key whose response failed or was cancelled is free for another try.
  const kept = own.filter(({ status }) => status !== 'failed' && status !== 'cancelled');
  return idempotencyKey !== undefined && kept.length > 1
    ? [`${kept.length} responses for one key: ${kept.map(({ id }) => id).join(', ')}`]
    : [];
}

/** Nobody is told of a defect of the service. */
function checkTold(fate: Fate, own: readonly ReadResponse[]): string[] {
  return fate.kind === 'refused' && fate.code === 'server_error' && own.length === 0
    ? [`it was told ${fate.code} (${fate.status}) without a response that failed so`]
    : [];
}

/** Whether a store that has forgotten something may have forgotten something of what a caller asked for. */
function isTouched({ begunMs, doneMs }: SimulatedCaller, fate: Fate, { fromMs, toMs }: Loss): boolean {
  return begunMs <= toMs && (fate.kind !== 'ended' || doneMs >= fromMs);
}

/** What a caller was told of the end, be it as the answer to a cancellation, is the end. */
function checkEnd(
  { cancelled }: SimulatedCaller,
  fate: Extract<Fate, { kind: 'ended' }>,
  { own, final }: { own: readonly ReadResponse[]; final: ReadResponse },
): string[] {
  const asked = cancelled?.kind === 'response' ? [cancelled.json] : [];
  return [fate.json, ...asked].flatMap((told) => {
    const response = JSON.parse(told) as { id: string; status: Status }; // as it was told
    // A key is free for another response once that of the first try was cancelled.
    const json = JSON.stringify(own.find(({ id }) => id === response.id) ?? final);
    if (!isTerminal(response.status) || (final.status === 'cancelled' && isLostTouch(told))) return [];
    return withoutObject(response) === json
      ? []
      : [`it was told ${withoutObject(response)}, and it is ${json}`];
  });
}

function checkFate(history: History, caller: SimulatedCaller, fate: Fate, final: ReadResponse): string[] {
  switch (fate.kind) {
    case 'ended':
      return final.status === 'cancelled' &&
        !isLostTouch(fate.json) &&
        !mayBeCancelled(caller) &&
        !isDrained(history, caller.plan)
        ? ['it was told that it was cancelled, which it was not']
        : [];
    case 'refused': {
      const isItsFailure = final.status === 'failed' && final.error?.code === fate.code;
      const isTakenBack = fate.status === 503 && mayBeRefused(history, caller, final);
      return isItsFailure || isTakenBack
        ? []
        : [`it was told ${fate.code} (${fate.status}), and it is ${final.status}`];
    }
    case 'gone':
      return [];
  }
}

/** How long it may take to take back what was refused, once the store answers, in milliseconds. */
const takenBackWithinMs = 2_000;

/**
 * What was refused is taken back, or abandoned by the rescue, and does not run. It may have run before the store answered
 * again, and nobody takes it back when its api died: both are not promised.
 */
function mayBeRefused(
  { upstream, faultsOverMs }: History,
  { plan, asked }: SimulatedCaller,
  final: ReadResponse,
) {
  if (asked?.isDead === true) return true;
  const calls = upstream.callsOf(plan.name).filter(({ responseId }) => responseId === final.id);
  if (calls.length === 0) return final.status === 'cancelled' || final.status === 'failed';
  return calls.every(({ toMs = Number.POSITIVE_INFINITY }) => toMs < faultsOverMs + takenBackWithinMs);
}

/** How long an api counts as there without a sign of it, in milliseconds. A caller that is away for longer may come back too late. */
const leaseMs = 5_000;

/** Whether anybody asks for the end of a response, or leaves one that is not in the background, or was away when its api ended without a word. */
function mayBeCancelled({ plan: { acts, mode }, longestAwayMs }: SimulatedCaller): boolean {
  const isBackground = mode === 'background' || mode === 'background stream';
  return isBackground
    ? acts.some(({ kind }) => kind === 'cancel')
    : acts.length > 0 || longestAwayMs > leaseMs;
}
