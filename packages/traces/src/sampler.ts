import type { TraceContext } from '@sluice/runtime';

export type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio';

export interface SamplerSettings {
  name: SamplerName;
  /** Share of the traces that begin here, from 0 to 1; for samplers by ratio. */
  ratio: number;
}

/** Decides whether to sample a trace, which begins here or with a caller. */
export type Sampler = (traceId: string, parent: TraceContext | undefined) => boolean;

/** The samplers of `OTEL_TRACES_SAMPLER`, as the specification of the SDK of OpenTelemetry has them. */
export function samplerOf({ name, ratio }: SamplerSettings): Sampler {
  const root = rootSampler(name, ratio);
  return name.startsWith('parentbased_') ? (traceId, parent) => parent?.isSampled ?? root(traceId) : root;
}

function rootSampler(name: SamplerName, ratio: number): (traceId: string) => boolean {
  if (name.endsWith('always_on')) return () => true;
  if (name.endsWith('always_off')) return () => false;
  const threshold = (1 - ratio) * 2 ** 52;
  return (traceId) => randomnessOf(traceId) >= threshold;
}

/**
 * The last 7 bytes of a trace id are random, by W3C Trace Context level 2. Samplers by ratio compare them with a threshold, so
 * that services with the same ratio choose the same traces. A number holds the upper 52 of their 56 bits.
 */
function randomnessOf(traceId: string): number {
  return Number.parseInt(traceId.slice(-14, -1), 16);
}
