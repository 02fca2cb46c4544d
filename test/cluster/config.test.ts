import type { ClusterPorts } from './config';
import { configOf, PORT_NAMES } from './config';

/** The config of the real Temporal server that the bench starts. */

const ports = Object.fromEntries(PORT_NAMES.map((name, i) => [name, 7_001 + i])) as unknown as ClusterPorts;
const store = { address: '127.0.0.1:5432', user: 'postgres', password: 'p: "w' };
const config = JSON.parse(configOf(store, 512, ports, '/dynamic.yaml')) as Record<string, never>;

test('each port is given to one service, and everything listens on loopback only', () => {
  const text = JSON.stringify(config);
  for (const port of Object.values(ports)) expect(text).toMatch(new RegExp(`\\b${port}\\b`));
  expect(text).not.toMatch(/0\.0\.0\.0/);
  const { services } = config as unknown as { services: Record<string, { rpc: Record<string, unknown> }> };
  expect(Object.keys(services).sort()).toEqual(['frontend', 'history', 'matching', 'worker']);
  for (const { rpc } of Object.values(services)) expect(rpc['bindOnIP']).toBe('127.0.0.1');
  const used = Object.values(services).flatMap(({ rpc }) => [rpc['grpcPort'], rpc['membershipPort']]);
  expect(new Set(used).size).toBe(8);
});

test('both stores are the given Postgres, and the shards are as many as asked for', () => {
  const { persistence } = config as unknown as {
    persistence: { numHistoryShards: number; datastores: Record<string, { sql: Record<string, unknown> }> };
  };
  expect(persistence.numHistoryShards).toBe(512);
  for (const [name, { sql }] of Object.entries(persistence.datastores))
    expect(sql).toMatchObject({ databaseName: name, connectAddr: '127.0.0.1:5432', password: 'p: "w' });
});
