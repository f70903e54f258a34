import { otherRelease } from '../service/releases.ts';
import { SimulatedService } from '../service/simulated-service.ts';
import { randomBytes } from '@sluice/runtime';
import { leaveWorld } from '../world/replace-builtins.ts';
import { World } from '../world/world.ts';
import { changeCells } from './change-cells.ts';
import { checkHistory } from './check-history.ts';
import { addEndpoints, SimulatedEndpoints } from './endpoints.ts';
import type { History } from './history.ts';
import { Faults } from './inject-faults.ts';
import { RarePaths } from './rare-paths.ts';
import type { Scenario } from './scenario.ts';
import { SimulatedBatch } from './simulated-batch.ts';
import { SimulatedCaller } from './simulated-caller.ts';
import { SimulatedOperator } from './simulated-operator.ts';
import { SimulatedUpstream, type UpstreamCall } from './upstream.ts';
import { leftovers } from './leftovers.ts';
import { queueMs, totalMs } from '../service/service-settings.ts';

/** What a scenario came to. */
export interface Result {
  /** What should not have been; empty for a good history. */
  problems: string[];
  /** The same for two runs of one scenario. */
  digest: string;
  /** How much happened. */
  steps: number;
  simulatedMs: number;
  responses: number;
  /** How often each rare path was taken. */
  reached: ReadonlyMap<string, number>;
  calls: readonly UpstreamCall[];
  callers: readonly SimulatedCaller[];
}

/** How long all may take to come to rest behind the last fault and the last caller, in milliseconds. */
const restWithinMs = queueMs + totalMs + 60_000;

/** How long all that is asked when a story is over may take, in milliseconds. */
const checkedWithinMs = 120_000;

/** How long a process is away that a call of an upstream has killed, in milliseconds. */
const restartMs = 500;

/** How often it is looked whether all is at rest, in milliseconds. */
const lookEveryMs = 200;

/** Tells a scenario in a world of its own, and checks its history. */
export async function runScenario(scenario: Scenario, log?: (line: string) => void): Promise<Result> {
  const other = scenario.hasTwoReleases === true ? await otherRelease() : undefined;
  const world = new World({ seed: scenario.seed, log });
  const onUnhandled = (error: unknown) => world.crashed(error);
  process.on('unhandledRejection', onUnhandled);
  try {
    const upstream = new SimulatedUpstream([
      ...scenario.callers,
      ...(scenario.batches ?? []).flatMap(({ lines }) => lines),
    ]);
    const endpoints = new SimulatedEndpoints(scenario.seed);
    const service = new SimulatedService(world, {
      ...scenario,
      isReplicated: scenario.isReplicated === true,
      hasBatches: scenario.batches !== undefined,
      otherRelease: other,
      providersOf: (process) => new Map([['upstream', upstream.providerOf(process)]]),
      sendOf: (process) => endpoints.sendOf(process),
    });
    upstream.onCrash = (crashed) => service.kill(crashed, restartMs);
    const paths = new RarePaths();
    world.onLogged = (line) => paths.logged(line);
    for (const network of service.networks)
      network.onAnswer = (bytes, isLost) => paths.answered(bytes, isLost);
    let told: string[] | undefined;
    const callers: SimulatedCaller[] = [];
    tell(service, { upstream, endpoints, scenario, callers }).then(
      (problems) => {
        told = problems;
      },
      (error: unknown) => {
        told = [`the story broke off: ${error instanceof Error ? error.stack : String(error)}`];
      },
    );
    await world.run(() => told !== undefined);
    paths.called(upstream.calls);
    return {
      problems: [...world.crashes, ...(told ?? ['the story has no end'])],
      digest: world.digest(),
      steps: world.steps,
      simulatedMs: world.elapsedMs,
      responses: scenario.callers.length,
      reached: paths.counts,
      calls: upstream.calls,
      callers,
    };
  } finally {
    leaveWorld();
    process.off('unhandledRejection', onUnhandled);
  }
}

async function tell(
  service: SimulatedService,
  {
    callers,
    ...others
  }: Pick<History, 'upstream' | 'endpoints' | 'scenario'> & { callers: SimulatedCaller[] },
): Promise<string[]> {
  const { scenario } = others;
  const { world } = service;
  world.as(anybody(service), () => randomBytes(poolSize));
  while (!service.isWhole) await world.sleep(lookEveryMs);
  if (scenario.hasWebhooks === true) await addEndpoints(service);
  if (scenario.cellChange) await changeCells(service, scenario.cellChange);
  const faults = new Faults(service, scenario);
  const begunAt = world.elapsedMs;
  for (const plan of scenario.callers)
    callers.push(new SimulatedCaller(world, service, { plan, others: [...callers] }));
  const operators = (scenario.operators ?? []).map((plan) => new SimulatedOperator(world, service, plan));
  const batches = (scenario.batches ?? []).map((plan) => new SimulatedBatch(service, plan));
  const asking = [...scenario.callers, ...(scenario.batches ?? [])];
  const lastMs = begunAt + Math.max(...asking.map(({ atMs }) => atMs));
  const leftoversNow = () => leftovers(service, { hasWebhooks: scenario.hasWebhooks === true });
  let left: string[] = [];
  for (;;) {
    await world.sleep(lookEveryMs);
    const overMs = Math.max(lastMs, faults.overMs);
    if (world.elapsedMs > overMs + restWithinMs) break;
    if (world.elapsedMs <= overMs) continue;
    if (!service.isWhole || ![...callers, ...operators, ...batches].every(({ isDone }) => isDone)) continue;
    // What has not begun by now would befall nobody.
    faults.disarm();
    left = leftoversNow();
    if (left.length === 0) break;
  }
  const waiting = [...callers, ...batches].filter(({ isDone }) => !isDone).map(({ plan }) => plan.name);
  if (waiting.length > 0) {
    return [`still waiting after all that time: ${waiting.join(', ')}`, ...leftoversNow()];
  }
  if (!service.isWhole) return ['a process does not start'];
  // Who reads a response that never ends is never told the end.
  if (left.length > 0) return left;
  const fates = await Promise.all(callers.map(({ fate }) => fate));
  const { overMs: faultsOverMs, losses } = faults;
  const problems = await Promise.race([
    checkHistory({ service, ...others, callers, fates, operators, batches, faultsOverMs, losses }),
    world.sleep(checkedWithinMs),
  ]);
  return problems ?? ['a reader is told nothing, although all is over'];
}

/** Bytes that a module keeps for ids; those of an earlier world are used up first. */
const poolSize = 8 * 1024;

function anybody(service: SimulatedService) {
  const process = service.processNamed('worker-0');
  if (!process) throw new Error('There is no worker');
  return process;
}
