export {
  closeConnections,
  connect,
  type ConnectOptions,
  type Wired,
  type WiredCell,
} from './connect.ts';
export { type RedisWatches, watchRedis } from './watch-redis.ts';
export type { CellState, CellStates, StoredCell } from './cells/cell-states.ts';
export { type CellProcess, CellProcesses } from './cells/cell-processes.ts';
export { CellChanges } from './cells/cell-changes.ts';
export { StoredCells } from './cells/stored-cells.ts';
export { type KnownCell, KnownCells } from './cells/known-cells.ts';
export { startFromFirstCell, stopForLate } from './cells/start-from-first-cell.ts';
export { addressesOf } from './cells/addresses-of.ts';
export { sealingPlaces } from './cells/sealing-places.ts';
export { OutboxFollowers } from './outbox-followers.ts';
export { type OutboxReaderName, outboxReaders, outboxWriting } from './outbox-readers.ts';
export {
  type ApiClients,
  apiClients,
  type OperatorClients,
  type RunnerClients,
  type WorkerClients,
} from './clients.ts';
export {
  apiRole,
  type ApiRoleOptions,
  type ConnectedSettings,
  operatorRole,
  isolatedRole,
  workerRole,
} from './roles.ts';
export {
  LiveModels,
  type LiveModelsOptions,
  openModels,
} from './models/live-models.ts';
export {
  type AskForModels,
  type ListedModels,
  ModelDiscovery,
  type ModelDiscoveryOptions,
} from './models/model-discovery.ts';
export { ModelChanges } from './models/model-changes.ts';
export { ProviderChanges } from './models/provider-changes.ts';
export type { MemberPatch, StoredChangesOptions } from './models/stored-changes.ts';
export { ModelStore, type ModelsAndProviders, type UnusableEntry } from './models/stored-settings.ts';
export { StoredWatch } from './models/stored-watch.ts';
export type { KnownList } from './models/discovered-store.ts';
