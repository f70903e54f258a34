import { Counter, type Registry } from 'prom-client';
import { memoize } from './memoize.ts';
import type { Telemetry } from './telemetry.ts';

export interface EndsOptions {
  /** Ids of the models of the settings. */
  models: readonly string[];
  /** Codes that a failed response can have. */
  codes: readonly string[];
}

const statuses = ['completed', 'incomplete', 'failed', 'cancelled'];

/**
 * Counts how responses end in this process. Every series is there from the start, at 0: a first failure would otherwise
 * not be seen as an increase.
 */
export function countEnds(
  telemetry: Pick<Telemetry, 'on'>,
  registry: Registry,
  { models, codes }: EndsOptions,
): void {
  const registers = [registry];
  const ended = new Counter({
    name: 'sluice_responses_total',
    help: 'Responses that ended here, by status.',
    labelNames: ['model', 'status'],
    registers,
  });
  const failed = new Counter({
    name: 'sluice_responses_failed_total',
    help: 'Responses that failed here, by the code of their error.',
    labelNames: ['model', 'code'],
    registers,
  });
  for (const model of models) {
    for (const status of statuses) ended.inc({ model, status }, 0);
    for (const code of codes) failed.inc({ model, code }, 0);
  }
  // Finding a series by its labels hashes them: once for each, not for each response.
  const endedAs = memoize((model: string, status: string) => ended.labels(model, status));
  telemetry.on('response.ended', ({ model, status, code }) => {
    endedAs(model, status).inc();
    if (status === 'failed') failed.inc({ model, code: code ?? 'unknown' });
  });
}
