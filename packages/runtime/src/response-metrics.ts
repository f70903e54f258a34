import type { Registry } from 'prom-client';
import { countFacts } from './metric-table.ts';
import type { Telemetry } from './telemetry.ts';

export interface EndsOptions {
  /** Ids of the models in effect, read at each scrape. */
  models: () => readonly string[];
  /** Codes that a failed response can have. */
  codes: readonly string[];
}

const statuses = ['completed', 'incomplete', 'failed', 'cancelled'];

/** Counts how responses end in this process. */
export function countEnds(
  telemetry: Pick<Telemetry, 'on'>,
  registry: Registry,
  { models, codes }: EndsOptions,
): void {
  countFacts(telemetry, registry, [
    {
      name: 'sluice_responses_total',
      help: 'Responses that ended here, by status.',
      labels: ['model', 'status'],
      known: () => models().flatMap((model) => statuses.map((status) => [model, status])),
      on: 'response.ended',
      count: ({ model, status }, add) => add([model, status]),
    },
    {
      name: 'sluice_responses_failed_total',
      help: 'Responses that failed here, by the code of their error.',
      labels: ['model', 'code'],
      known: () => models().flatMap((model) => codes.map((code) => [model, code])),
      on: 'response.ended',
      count: ({ model, status, code }, add) => {
        if (status === 'failed') add([model, code ?? 'unknown']);
      },
    },
  ]);
}
