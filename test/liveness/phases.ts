import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { leaderWorkflowId } from '../../workflows/naming';
import { stopInside } from '../stops/aim';
import { HERD } from './movers';
import type { World } from './world';

/** The faults: each resolves when it is over, with figures of its own. */

export interface FaultSettings {
  stops: number;
  stopMs: number;
  busy: number;
  busyMs: number;
  /** Of the herd: how long its leaders work before all die, so that they have a history. */
  herdMs: number;
  awayMs: number;
  halfOpenMs: number;
  readOnlyMs: number;
}
export interface Phase {
  name: string;
  /** Before its fault: not measured. */
  prepare?: (world: World) => Promise<void>;
  fault: (world: World) => Promise<Record<string, unknown>>;
  /** When it goes on again. */
  after?: (world: World) => Promise<Record<string, unknown>>;
}

const AIM_MS = 3_000;
const PAUSE_MS = 1_000;

const stops = (workers: number, { stops: times, stopMs }: FaultSettings): Phase => ({
  name: `stops-${workers}`,
  prepare: ({ crew }) => crew.resize(workers),
  fault: async ({ crew, options }) => {
    let inside = 0;
    for (let i = 0; i < times; i++) {
      await sleep(PAUSE_MS);
      const pid = crew.pid(i % workers);
      const stop = await stopInside(pid, AIM_MS);
      if (stop.inside) inside++;
      await sleep(stopMs);
      process.kill(pid, 'SIGCONT');
      options.log(
        `  stop ${i + 1} of ${times}: process ${pid}, ${stop.inside ? 'inside' : 'outside of'} workflow code`,
      );
    }
    return { stops: times, inside };
  },
  after: async ({ crew, options }) => {
    await crew.resize(options.workers);
    return {};
  },
});

const starved = ({ busy, busyMs }: FaultSettings): Phase => ({
  name: 'starved',
  fault: async ({ cleanup }) => {
    const others: ChildProcess[] = [];
    const end = async (): Promise<void> => void others.map((one) => one.kill('SIGKILL'));
    cleanup.add('the busy processes', end);
    for (let i = 0; i < busy; i++) others.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
    await sleep(busyMs);
    await end();
    return { busy };
  },
});

const HERD_BATCH = 40;
/**
 * Open tasks of the herd at which no more are added, for each leader. Its turns queue before those
 * of everybody: above what the machine can do, nothing would be steady. With 2 the Temporal server
 * of a machine of 2 cores started activities 25 to 46 s after they were scheduled.
 */
const HERD_OPEN = 0.25;

const herd = ({ herdMs }: FaultSettings): Phase => ({
  name: 'herd',
  prepare: async ({ load, downstream, options }) => {
    await load.holdHerd();
    load.startHerd(HERD_BATCH, () => load.acceptedOf(HERD) - downstream.doneOf(HERD) >= HERD_OPEN * options.leaders);
    options.log(`  ${options.leaders} leaders work for ${herdMs} ms`);
    await sleep(herdMs);
  },
  fault: async (world) => {
    const { crew, options, client, load } = world;
    const { rows } = await world.store.query<{ id: number; name: string; open: boolean }>(`
select l.id, l.name, exists (select from batch b where b.leader_id = l.id and b.state = 1) or exists (
  select from target t join queue q on q.target_id = t.id where t.leader_id = l.id) as open
from leader l join handler h on h.id = l.handler_id where h.name = '${HERD}'`);
    const temporal = await client.temporal();
    const lengths: number[] = [];
    for (const { id, name } of rows) {
      const handle = temporal.workflow.getHandle(leaderWorkflowId(world.prefix, HERD, name, id));
      const length = await handle.describe().then(
        ({ historyLength, status }) => (status.name === 'RUNNING' ? historyLength : null),
        () => null,
      );
      if (length !== null) lengths.push(length);
    }
    const killed = await crew.killAll();
    await load.releaseHerd();
    await sleep(5_000);
    crew.restart(killed);
    lengths.sort((a, b) => a - b);
    const figures = {
      leaders: rows.length,
      open: rows.filter(({ open }) => open).length,
      runs: lengths.length,
      medianEvents: lengths[lengths.length >> 1] ?? 0,
      mostEvents: lengths.at(-1) ?? 0,
    };
    options.log(`  all ${killed} workers killed: ${JSON.stringify(figures)}`);
    return figures;
  },
  after: async ({ load }) => {
    load.endHerd();
    return {};
  },
});

const temporalStopped = ({ awayMs }: FaultSettings): Phase => ({
  name: 'temporal-stopped',
  fault: async ({ temporalPid }) => {
    process.kill(temporalPid, 'SIGSTOP');
    await sleep(awayMs);
    process.kill(temporalPid, 'SIGCONT');
    return {};
  },
});

const temporalKilled = ({ awayMs }: FaultSettings): Phase => ({
  name: 'temporal-killed',
  fault: async (world) => {
    await world.restartTemporal(awayMs);
    return {};
  },
});

/**
 * Nothing comes through; then what waited comes, or the connections that were there stay dead and
 * new ones work.
 */
const halfOpen = (lost: boolean, { halfOpenMs }: FaultSettings): Phase => ({
  name: lost ? 'half-open-lost' : 'half-open-held',
  fault: async ({ proxy }) => {
    const connections = proxy.open();
    proxy.stall();
    await sleep(halfOpenMs);
    if (lost) proxy.cut();
    proxy.resume();
    return { connections };
  },
});

const readOnly = ({ readOnlyMs }: FaultSettings): Phase => ({
  name: 'read-only',
  fault: async ({ databaseUrl }) => {
    const admin = new pg.Client({ connectionString: databaseUrl });
    await admin.connect();
    try {
      await admin.query('set default_transaction_read_only = off');
      await admin.query('alter system set default_transaction_read_only = on');
      await admin.query('select pg_reload_conf()');
      await sleep(readOnlyMs);
      await admin.query('alter system reset default_transaction_read_only');
      await admin.query('select pg_reload_conf()');
    } finally {
      await admin.end();
    }
    return {};
  },
});

type Make = (settings: FaultSettings) => Phase;
/**
 * By the names that `--only` has: groups, and what is in them, in the order in which they are run.
 */
const GROUPS = {
  stops: { 'stops-1': (settings) => stops(1, settings), 'stops-2': (settings) => stops(2, settings) },
  starved: { starved },
  herd: { herd },
  'temporal-away': { 'temporal-stopped': temporalStopped, 'temporal-killed': temporalKilled },
  'half-open': {
    'half-open-held': (settings) => halfOpen(false, settings),
    'half-open-lost': (settings) => halfOpen(true, settings),
  },
  'read-only': { 'read-only': readOnly },
} as const satisfies Record<string, Record<string, Make>>;

export const PHASE_NAMES: readonly string[] = [
  ...new Set(Object.entries(GROUPS).flatMap(([group, makes]) => [group, ...Object.keys(makes)])),
];

/** Those of the groups and phases that are named, each once. */
export const phasesOf = (only: readonly string[], settings: FaultSettings): Phase[] =>
  Object.entries(GROUPS).flatMap(([group, makes]) =>
    Object.entries<Make>(makes).flatMap(([name, make]) =>
      only.includes(group) || only.includes(name) ? [make(settings)] : [],
    ),
  );
