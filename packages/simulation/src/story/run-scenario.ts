import '../world/replace-builtins.ts';
import { SimulatedService } from '../service/simulated-service.ts';
import { randomBytes } from '@sluice/runtime';
import { World } from '../world/world.ts';
import { checkHistory } from './check-history.ts';
import { injectFaults } from './inject-faults.ts';
import type { Scenario } from './scenario.ts';
import { SimulatedCaller } from './simulated-caller.ts';
import { SimulatedUpstream } from './upstream.ts';
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
}

/** How long all may take to come to rest behind the last fault and the last caller, in milliseconds. */
const restWithinMs = queueMs + totalMs + 60_000;

/** How often it is looked whether all is at rest, in milliseconds. */
const lookEveryMs = 400;

/** Tells a scenario in a world of its own, and checks its history. */
export async function runScenario(scenario: Scenario, log?: (line: string) => void): Promise<Result> {
  const world = new World({ seed: scenario.seed, log });
  const onUnhandled = (error: unknown) => world.crashed(error);
  process.on('unhandledRejection', onUnhandled);
  try {
    const upstream = new SimulatedUpstream(scenario.callers);
    const service = new SimulatedService(world, {
      ...scenario,
      providersOf: (process) => new Map([['upstream', upstream.providerOf(process)]]),
    });
    let told: string[] | undefined;
    tell(service, upstream, scenario).then(
      (problems) => {
        told = problems;
      },
      (error: unknown) => {
        told = [`the story broke off: ${error instanceof Error ? error.stack : String(error)}`];
      },
    );
    await world.run(() => told !== undefined);
    return {
      problems: [...world.crashes, ...(told ?? ['the story has no end'])],
      digest: world.digest(),
      steps: world.steps,
      simulatedMs: world.elapsedMs,
      responses: scenario.callers.length,
    };
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

async function tell(
  service: SimulatedService,
  upstream: SimulatedUpstream,
  scenario: Scenario,
): Promise<string[]> {
  const { world } = service;
  world.as(anybody(service), () => randomBytes(poolSize));
  while (!service.isWhole) await world.sleep(lookEveryMs);
  const begunAt = world.elapsedMs;
  const faultsOverMs = injectFaults(service, scenario.faults);
  const callers = scenario.callers.map((plan) => new SimulatedCaller(world, service, plan));
  let isOver = false;
  const fates = Promise.all(callers.map(({ fate }) => fate)).then((all) => {
    isOver = true;
    return all;
  });
  const lastMs = Math.max(faultsOverMs, ...scenario.callers.map(({ atMs }) => atMs));
  const deadline = begunAt + lastMs + restWithinMs;
  let left: string[] = [];
  for (;;) {
    await world.sleep(lookEveryMs);
    const hasFaults = world.elapsedMs < begunAt + faultsOverMs || !service.isWhole;
    if (isOver && !hasFaults) {
      left = leftovers(service.network);
      if (left.length === 0) break;
    }
    if (world.elapsedMs > deadline) break;
  }
  if (!isOver) {
    const waiting = callers.filter(({ isDone }) => !isDone).map(({ plan }) => plan.name);
    return [`still waiting after all that time: ${waiting.join(', ')}`, ...leftovers(service.network)];
  }
  const problems = await checkHistory({ service, upstream, scenario, callers, fates: await fates });
  return [...left, ...problems];
}

/** Bytes that a module keeps for ids; those of an earlier world are used up first. */
const poolSize = 8 * 1024;

function anybody(service: SimulatedService) {
  const process = service.processNamed('worker-0');
  if (!process) throw new Error('There is no worker');
  return process;
}
