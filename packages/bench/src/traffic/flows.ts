import type { BenchService } from '../service.ts';
import { prompt } from '../targets.ts';
import { type PacedModel, pacedModelName } from '../upstream/paced-model.ts';
import type { Flow } from './flow.ts';

interface FlowOptions {
  /** The flow's name, and the tenant's. */
  name: string;
  /** Absent: as the name. */
  tenant?: string;
  model: PacedModel;
  tier?: 'flex' | 'priority';
  count: number;
  lastsMs: number;
}

/** How many callers there are in a burst. */
const callers = 32;

/** Background requests, as fast as they are accepted. */
export function burstFlow(service: BenchService, options: FlowOptions): Flow {
  return flow(service, options, { background: true });
}

/** Background requests at a steady pace. */
export function pacedFlow(service: BenchService, options: FlowOptions & { everyMs: number }): Flow {
  return { ...flow(service, options, { background: true }), everyMs: options.everyMs };
}

/** Streams at a steady pace. */
export function streamFlow(service: BenchService, options: FlowOptions & { everyMs: number }): Flow {
  return { ...flow(service, options, { stream: true }), everyMs: options.everyMs };
}

function flow(
  service: BenchService,
  { name, tenant = name, model, tier, count, lastsMs }: FlowOptions,
  kind: { background: true } | { stream: true },
): Flow {
  return {
    name,
    origins: service.urls,
    key: service.keyOf(tenant),
    request: { model: pacedModelName(model), ...kind, ...(tier && { service_tier: tier }) },
    input: prompt,
    count,
    everyMs: 0,
    lanes: callers,
    lastsMs,
  };
}
