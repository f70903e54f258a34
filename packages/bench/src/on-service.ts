import type { ScenarioContext } from './scenario.ts';
import { type BenchService, type ServiceOptions, startService } from './service.ts';
import { modelName, type NoOpModel } from './upstream/no-op-answer.ts';

/** What a scenario says of its service; the context says the rest. */
export interface ServicePlan extends Pick<ServiceOptions, 'concurrency' | 'settings' | 'tenants'> {
  models: readonly NoOpModel[];
}

/** Runs something on a service of its own, without a worker at first. Stops it in the end, and removes what it has stored. */
export async function onService<Result>(
  context: ScenarioContext,
  plan: ServicePlan,
  run: (service: BenchService) => Promise<Result>,
): Promise<Result> {
  const { redis } = context;
  const service = await startService({
    ...context,
    ...plan,
    redisUrl: redis.url,
    models: plan.models.map(modelName),
  });
  try {
    return await run(service);
  } finally {
    await service.stop();
    await redis.clear(service.keyPrefix);
  }
}
