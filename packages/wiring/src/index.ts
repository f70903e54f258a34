export {
  closeConnections,
  connect,
  type ConnectOptions,
  type Wired,
  watchRedis,
} from './connect.ts';
export {
  type ApiClients,
  apiClients,
  type OperatorClients,
  operatorClients,
  type RunnerClients,
  runnerClients,
  type WorkerClients,
  workerClients,
} from './clients.ts';
export {
  type ApiRoleOptions,
  apiRole,
  type ConnectedSettings,
  operatorRole,
  type Role,
  type RunnerRoleOptions,
  isolatedRole,
  workerRole,
} from './roles.ts';
