import { setTimeout as pause } from 'node:timers/promises';
import type { BenchRedis } from '../bench-redis.ts';
import type { Child } from '../child-process.ts';
import { readCpuTimes } from '../cpu-times.ts';
import { timeOfSync } from '../durable-peers/disk.ts';
import type { DurablePeer, RunningPeer } from '../durable-peers/durable-peer.ts';
import { knownPeers } from '../durable-peers/known-peers.ts';
import { descriptionOf, type PeerLoad, peerTables } from '../durable-peers/peer-report.ts';
import { durabilities, type Results, type Round, type Variant } from '../durable-peers/variant.ts';
import { installChosen } from '../installs.ts';
import type { LoadOrder } from '../load/order.ts';
import { measure, runLoad } from '../measure.ts';
import { alternate } from '../rounds.ts';
import { sum } from '../statistics.ts';
import type { Scenario, ScenarioContext, ScenarioReport } from '../scenario.ts';
import { type BenchService, processesOf, startService } from '../service.ts';
import { backgroundTarget, wholeTarget } from '../targets.ts';
import { modelName } from '../upstream/no-op-answer.ts';

const slots = 64;
const concurrencies = [1, 16, 64];
const model = { tokens: 1, intervalMs: 0 };

const plans = {
  full: { rounds: 5, roundMs: 1_500, warmUpMs: 8_000, burst: 1_000, burstRounds: 3 },
  quick: { rounds: 1, roundMs: 400, warmUpMs: 400, burst: 200, burstRounds: 1 },
};

/** The longest time for a burst, from its first request to the last call of the upstream. */
const mostMs = 120_000;
const pollMs = 20;

/** A contestant is idle when its processes take less CPU time than that in a while; and the longest wait for it. All in milliseconds. */
const idle = { cpuMs: 20, whileMs: 100, mostMs: 5_000 };

/** Durable queues and workflow engines that people know, beside Sluice. Runs when it is asked for, because they are installed for it. */
export const durablePeers: Scenario = {
  name: 'durable-peers',
  async run(context: ScenarioContext): Promise<ScenarioReport> {
    const { progress, redis, quick, directory, upstreamUrl } = context;
    const plan = quick ? plans.quick : plans.full;
    const chosen = await installChosen(knownPeers, context);
    const fsyncBefore = await redis.setAppendFsync('everysec');
    const service = await startService({
      ...context,
      redisUrl: redis.url,
      models: [modelName(model)],
      concurrency: slots,
    });
    const running: RunningPeer[] = [];
    try {
      const variants = variantsOfSluice(context, service, await service.startWorker());
      for (const peer of chosen) {
        progress.say(`durable peers: starting ${peer.name}`);
        const started = await peer.start({ upstreamUrl, slots, directory });
        running.push(started);
        variants.push(...variantsOf(peer, started));
      }
      const warm = await warmUp(context, variants, plan.warmUpMs);
      const loads: PeerLoad[] = [];
      for (const concurrency of concurrencies) {
        const order = { concurrency, durationMs: plan.roundMs };
        const results = await compete(context, variants, order, 'whole');
        loads.push({ title: `${concurrency} at a time`, results, isBurst: false });
      }
      const burst = { concurrency: slots, durationMs: mostMs, count: plan.burst };
      loads.push({
        title: `A burst of ${plan.burst.toLocaleString('en-US')}`,
        results: await compete(context, variants, burst, 'background'),
        isBurst: true,
      });
      const releases = chosen.map(({ name, version }, at) => `${name} ${version} (${running[at]?.store})`);
      return {
        title: 'Durable peers',
        description: descriptionOf({
          sluice: redis.version,
          releases,
          warm,
          slots,
          syncMs: await timeOfSync(directory),
        }),
        tables: peerTables(loads),
      };
    } finally {
      await Promise.all([...running.map((peer) => peer.stop()), service.stop()]);
      await redis.setAppendFsync(fsyncBefore);
      await redis.clear(service.keyPrefix);
    }
  },
};

const appendFsync = { soon: 'everysec', 'at once': 'always' };

function variantsOfSluice(
  { redis, upstream }: ScenarioContext,
  service: BenchService,
  worker: Child,
): Variant[] {
  return durabilities.map((durability) => ({
    contestant: 'sluice',
    durability,
    setting: `appendfsync ${appendFsync[durability]}`,
    prepare: () => redis.setAppendFsync(appendFsync[durability]),
    whole: wholeTarget(service, model),
    background: backgroundTarget(service, model),
    usesRedis: true,
    processes: processesOf(service, worker, upstream),
  }));
}

function variantsOf({ name }: DurablePeer, peer: RunningPeer): Variant[] {
  return [...peer.settings].map(([durability, setting]) => ({
    contestant: name,
    durability,
    setting,
    prepare: () => peer.use(durability),
    whole: peer.whole,
    background: peer.background,
    usesRedis: false,
    processes: peer.processes,
  }));
}

/** Returns how many requests each contestant had answered after it. */
async function warmUp(
  { load, progress }: ScenarioContext,
  variants: readonly Variant[],
  durationMs: number,
): Promise<Map<string, number>> {
  const answered = new Map<string, number>();
  for (const { contestant, prepare, whole } of variants) {
    if (answered.has(contestant)) continue;
    progress.say(`durable peers: warming up ${contestant}`);
    await prepare();
    const { completed } = await runLoad(load, { target: whole, concurrency: slots, durationMs });
    answered.set(contestant, completed);
  }
  return answered;
}

async function compete(
  context: ScenarioContext,
  variants: readonly Variant[],
  order: Omit<LoadOrder, 'target'>,
  kind: 'whole' | 'background',
): Promise<Results> {
  const { load, quick, progress } = context;
  const { rounds, burstRounds } = quick ? plans.quick : plans.full;
  const runs = new Map(
    variants.map((variant) => {
      const run = async () => {
        progress.say(
          `durable peers: ${variant.contestant}, ${variant.setting}, ${order.concurrency} ${kind}`,
        );
        await variant.prepare();
        // The first requests after a pause wake what has gone to sleep, and find the setting taken.
        await runLoad(load, { ...order, target: variant.whole, count: order.concurrency });
        return measureOnce(context, variant, { ...order, target: variant[kind] });
      };
      return [variant, run] as const;
    }),
  );
  return alternate(runs, kind === 'background' ? burstRounds : rounds);
}

/** @throws {Error} when the upstream was not called once for each request. */
async function measureOnce(
  { load, redis, upstream }: ScenarioContext,
  { contestant, usesRedis, processes }: Variant,
  order: LoadOrder,
): Promise<Round> {
  const countCalls = async () => {
    const { answers } = (await upstream.ask({}, mostMs)) as { answers: number }; // the upstream's message
    return answers;
  };
  const all = new Map([...processes, ['upstream', upstream] as const]);
  const before = await countCalls();
  let doneMs = Number.NaN;
  const settle = async (completed: number, startedAt: number) => {
    while ((await countCalls()) < before + completed) {
      if (performance.now() > startedAt + mostMs)
        throw new Error(`${contestant} has not run all within ${mostMs} ms`);
      await pause(pollMs);
    }
    doneMs = performance.now() - startedAt;
    await untilIdle(all, usesRedis ? redis : undefined); // ends are written behind the last calls
  };
  const round = await measure(order, {
    load,
    redis: usesRedis ? redis : undefined,
    processes: all,
    settle,
  });
  const calls = (await countCalls()) - before;
  if (calls !== round.completed) {
    throw new Error(`${contestant} called the upstream ${calls} times for ${round.completed} requests`);
  }
  if (usesRedis) round.cpuMs.set('store', round.cpuMs.get('redis'));
  return { ...round, doneMs };
}

async function untilIdle(
  processes: ReadonlyMap<string, Pick<Child, 'pid'>>,
  redis: BenchRedis | undefined,
): Promise<void> {
  const read = async () => sum([...(await readCpuTimes(processes, redis)).values()].map((ms) => ms ?? 0));
  const deadline = performance.now() + idle.mostMs;
  let before = await read();
  while (performance.now() < deadline) {
    await pause(idle.whileMs);
    const now = await read();
    if (now - before < idle.cpuMs) return;
    before = now;
  }
}
