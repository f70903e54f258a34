import type { Explanation } from './explain-issue.ts';

/** The part of the settings that the checks below need; an invalid value is absent. */
interface ProvidersAndModels {
  providers?:
    | {
        discover?: boolean | undefined;
        discovery?: unknown;
        pressure?: { adaptive?: boolean | undefined; latencyTolerance?: number | undefined } | undefined;
      }[]
    | undefined;
  models?: unknown[] | undefined;
}

/** Finds settings that would have no effect, which nobody means. */
export function checkPressure({ providers = [] }: ProvidersAndModels): Explanation[] {
  const found: Explanation[] = [];
  for (const [index, { pressure = {} }] of providers.entries()) {
    if (pressure.adaptive === false && pressure.latencyTolerance !== undefined) {
      const message = 'has no effect while `adaptive` is false; remove one of the two';
      found.push({ path: ['providers', index, 'pressure', 'latencyTolerance'], message });
    }
  }
  return found;
}

/** Finds settings of discovery without effect, and a service that would have no model. */
export function checkDiscovery({ providers = [], models }: ProvidersAndModels): Explanation[] {
  const found: Explanation[] = [];
  for (const [index, { discover, discovery }] of providers.entries()) {
    if (discovery === undefined || discover !== undefined) continue;
    const message = 'has no effect without `discover: true`; add that, or remove this';
    found.push({ path: ['providers', index, 'discovery'], message });
  }
  if ((models ?? []).length === 0 && !providers.some(({ discover }) => discover)) {
    const message = 'is empty; name a model, or let a provider discover its own with `discover: true`';
    found.push({ path: ['models'], message });
  }
  return found;
}
