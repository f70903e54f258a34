import type { ScenarioContext } from './scenario.ts';
import { type BenchService, type ServiceOptions, startService } from './service.ts';
import { startTraffic, type Traffic } from './traffic/start-traffic.ts';
import { type PacedUpstream, startPacedUpstream } from './upstream/start-paced-upstream.ts';

type ServiceShape = Omit<ServiceOptions, 'redisUrl' | 'upstreamUrl' | 'directory' | 'profile'>;

/** What a scenario with a queue in front of a slow upstream works with. */
export interface Stage {
  upstream: PacedUpstream;
  traffic: Traffic;
  start(shape: ServiceShape): Promise<BenchService>;
  /** Stops a service and removes what it has stored. May be called twice. */
  end(service: BenchService): Promise<void>;
}

/** Runs something on a stage of its own. Every process of it has ended, and its keys are gone, when this returns. */
export async function onStage<Result>(
  context: ScenarioContext,
  run: (stage: Stage) => Promise<Result>,
): Promise<Result> {
  const upstream = await startPacedUpstream();
  const services = new Set<BenchService>();
  let traffic: Traffic | undefined;
  const end = async (service: BenchService) => {
    await service.stop();
    await context.redis.clear(service.keyPrefix);
    services.delete(service);
  };
  try {
    traffic = await startTraffic();
    return await run({
      upstream,
      traffic,
      async start(shape) {
        const { directory, profile, redis } = context;
        const service = await startService({
          ...shape,
          directory,
          profile,
          redisUrl: redis.url,
          upstreamUrl: upstream.url,
        });
        services.add(service);
        return service;
      },
      end,
    });
  } finally {
    await traffic?.stop();
    for (const service of services) await end(service);
    await upstream.stop();
  }
}
