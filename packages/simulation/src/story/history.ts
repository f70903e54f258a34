import type { SimulatedService } from '../service/simulated-service.ts';
import type { SimulatedEndpoints } from './endpoints.ts';
import type { Loss } from './inject-faults.ts';
import type { Scenario } from './scenario.ts';
import type { SimulatedBatch } from './simulated-batch.ts';
import type { Fate, SimulatedCaller } from './simulated-caller.ts';
import type { SimulatedOperator } from './simulated-operator.ts';
import type { SimulatedUpstream } from './upstream.ts';

/** Everything that is known when a story is over. */
export interface History {
  service: SimulatedService;
  upstream: SimulatedUpstream;
  endpoints: SimulatedEndpoints;
  scenario: Scenario;
  callers: readonly SimulatedCaller[];
  fates: readonly Fate[];
  batches: readonly SimulatedBatch[];
  operators: readonly SimulatedOperator[];
  /** When the last fault was over, in milliseconds of the world. */
  faultsOverMs: number;
  /** The times whose writes the store has lost. */
  losses: readonly Loss[];
}
