/** The config file of one Temporal server with all services, on loopback and Postgres. */

export interface ClusterPorts {
  frontend: number;
  frontendMembership: number;
  history: number;
  historyMembership: number;
  matching: number;
  matchingMembership: number;
  worker: number;
  workerMembership: number;
  metrics: number;
}
export const PORT_NAMES = [
  'frontend',
  'frontendMembership',
  'history',
  'historyMembership',
  'matching',
  'matchingMembership',
  'worker',
  'workerMembership',
  'metrics',
] as const satisfies readonly (keyof ClusterPorts)[];

interface Store {
  /** `host:port`. */
  address: string;
  user: string;
  password: string;
}

const HOST = '127.0.0.1';
export const DATABASES = ['temporal', 'visibility'] as const;

/** Returns the config; it is JSON, which YAML reads as well. */
export const configOf = (store: Store, shards: number, ports: ClusterPorts, dynamicConfig: string): string => {
  const database = (databaseName: string): object => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: store.address,
      connectProtocol: 'tcp',
      user: store.user,
      password: store.password,
      maxConns: 20,
      maxIdleConns: 20,
    },
  });
  const service = (grpcPort: number, membershipPort: number): object => ({
    rpc: { grpcPort, membershipPort, bindOnIP: HOST },
  });
  return JSON.stringify({
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: DATABASES[0],
      visibilityStore: DATABASES[1],
      numHistoryShards: shards,
      datastores: Object.fromEntries(DATABASES.map((name) => [name, database(name)])),
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: HOST },
      metrics: { prometheus: { timerType: 'histogram', listenAddress: `${HOST}:${ports.metrics}` } },
    },
    services: {
      frontend: service(ports.frontend, ports.frontendMembership),
      history: service(ports.history, ports.historyMembership),
      matching: service(ports.matching, ports.matchingMembership),
      worker: service(ports.worker, ports.workerMembership),
    },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `${HOST}:${ports.frontend}`,
        },
      },
    },
    publicClient: { hostPort: `${HOST}:${ports.frontend}` },
    dynamicConfigClient: { filepath: dynamicConfig, pollInterval: '60s' },
  });
};
