import type { CellOfQueues } from '@sluice/queue';
import type { AttemptStores } from '@sluice/response-store';
import type { WiredCell, WorkerClients } from '@sluice/wiring';

/** A cell of the store as a worker is connected with it. */
export type WorkerStoreCell = WiredCell<WorkerClients, AttemptStores>;

/** The queues of a cell, as those see them who divide what may run. */
export function queuesOf({
  name,
  keyPrefix,
  clients,
  store,
}: WorkerStoreCell): CellOfQueues & { connection: WorkerClients['commands'] } {
  return {
    name,
    keyPrefix,
    connection: clients.commands,
    runningFlows: (queue, responseIds) => store.runningFlows(name, { queue, responseIds }),
  };
}
