/** How many shards a cluster divides its workflows by: as many as the documentation has for a small one. */
const shards = 512;

const services = ['frontend', 'matching', 'history', 'worker'] as const;

/**
 * The configuration of a server with all services in one process, and the address of its frontend.
 *
 * @param ports two for each service.
 */
export function serverConfig(
  postgresPort: number,
  ports: readonly number[],
): { text: string; address: string } {
  const host = '127.0.0.1';
  const address = `${host}:${ports[0]}`;
  const store = (databaseName: string) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${host}:${postgresPort}`,
      connectProtocol: 'tcp',
      user: 'postgres',
      password: '',
      maxConns: 20,
      maxIdleConns: 20,
      maxConnLifetime: '1h',
    },
  });
  const config = {
    log: { stdout: true, level: 'error' },
    persistence: {
      defaultStore: 'workflows',
      visibilityStore: 'visibility',
      numHistoryShards: shards,
      datastores: { workflows: store('temporal'), visibility: store('temporal_visibility') },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: host } },
    services: Object.fromEntries(
      services.map((name, at) => [
        name,
        { rpc: { grpcPort: ports[2 * at], membershipPort: ports[2 * at + 1], bindOnIP: host } },
      ]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: address },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    publicClient: { hostPort: address },
  };
  // Any JSON is YAML.
  return { text: JSON.stringify(config, undefined, 2), address };
}
