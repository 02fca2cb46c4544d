import type { FaultKind } from '../plan';
import * as builds from './builds';
import * as connections from './connections';
import type { Fault } from './fault';
import * as postgres from './postgres';
import * as processes from './processes';
import * as temporal from './temporal';

export const FAULTS: Record<FaultKind, Fault> = {
  kill: processes.kill,
  'kill-all': processes.killAll,
  stop: processes.stop,
  clock: processes.clock,
  starved: processes.starved,
  'builds-mixed': builds.buildsMixed,
  reset: connections.reset,
  refused: connections.refused,
  stalled: connections.stalled,
  delayed: connections.delayed,
  'half-open': connections.halfOpen,
  'answers-lost': connections.answersLost,
  'cut-at-commit': connections.cutAtCommit,
  'sessions-ended': postgres.sessionsEnded,
  'postgres-killed': postgres.postgresKilled,
  'read-only': postgres.readOnly,
  'tables-locked': postgres.tablesLocked,
  'no-connections': postgres.noConnections,
  'tables-full': postgres.tablesFull,
  'disk-full': postgres.diskFull,
  snapshot: postgres.snapshot,
  'temporal-stopped': temporal.temporalStopped,
  'temporal-killed': temporal.temporalKilled,
  'temporal-emptied': temporal.temporalEmptied,
  'namespace-deleted': temporal.namespaceDeleted,
  'runs-terminated': temporal.runsTerminated,
  'runs-cancelled': temporal.runsCancelled,
  'runs-reset': temporal.runsReset,
};
