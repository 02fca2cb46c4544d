import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Pool } from '../../postgres/pool';

/**
 * Registers how the database connections of this process's pools are used, by name of the pool:
 * whether `maxConnections` is too small, or larger than needed.
 */
export const addConnectionGauges = (registry: Registry, pools: Readonly<Record<string, Pool>>): void => {
  const registers = [registry];
  new Gauge({
    name: 'muster_connections',
    help: 'Database connections of this process, by pool and state: busy, idle',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { totalCount, idleCount }] of Object.entries(pools)) {
        this.set({ pool, state: 'busy' }, totalCount - idleCount);
        this.set({ pool, state: 'idle' }, idleCount);
      }
    },
  });
  new Gauge({
    name: 'muster_connection_waits',
    help: 'Transactions and statements waiting for a connection of the pool',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { waitingCount }] of Object.entries(pools)) this.set({ pool }, waitingCount);
    },
  });
};
