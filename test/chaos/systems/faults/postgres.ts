import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Fault, Strike } from './fault';

/** Postgres ends sessions, dies, takes no writes, locks, and runs out of what it needs. */

/** Runs beside everybody, as an operator's session, and ends with the fault. */
const asOperator = async <T>({ world }: Strike, work: (db: pg.Client) => Promise<T>): Promise<T> => {
  const db = new pg.Client({
    connectionString: world.databaseUrl,
    options: '-c search_path=muster',
    application_name: 'chaos',
  });
  db.on('error', () => undefined);
  await db.connect();
  try {
    await db.query('set default_transaction_read_only = off');
    return await work(db);
  } finally {
    await db.end().catch(() => undefined);
  }
};

export const sessionsEnded: Fault = (strike) =>
  asOperator(strike, async (db) => {
    let struck = 0;
    for (let i = 0; i < strike.times; i++) {
      const { rowCount } = await db.query(`
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and application_name not in ('liveness witness', 'chaos')`);
      struck += rowCount ?? 0;
      await sleep(strike.forMs);
    }
    return struck;
  });

export const postgresKilled: Fault = async ({ world, forMs }) => {
  await world.restartPostgres(forMs);
  return 1;
};

export const readOnly: Fault = (strike) =>
  asOperator(strike, async (db) => {
    await db.query('alter system set default_transaction_read_only = on');
    await db.query('select pg_reload_conf()');
    try {
      await sleep(strike.forMs);
    } finally {
      await db.query('alter system reset default_transaction_read_only');
      await db.query('select pg_reload_conf()');
    }
    return 1;
  });

const TABLES = ['task', 'batch', 'queue', 'lane_queue', 'lease', 'segment', 'chunk', 'notification', 'leader'];
/** Nobody else writes one of the tables. */
export const tablesLocked: Fault = (strike) =>
  asOperator(strike, async (db) => {
    const table = TABLES[Math.floor(strike.random() * TABLES.length)]!;
    await db.query('begin');
    await db.query(`lock table ${table} in share row exclusive mode`);
    await sleep(strike.forMs);
    await db.query('rollback');
    return 1;
  });

const TAKERS = 16;
/** All connections that Postgres has are taken, and those of everybody are reset. */
export const noConnections: Fault = async ({ world, forMs }) => {
  const taken: pg.Client[] = [];
  const untilMs = performance.now() + forMs;
  const take = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const one = new pg.Client({ connectionString: world.databaseUrl, application_name: 'chaos' });
      one.on('error', () => undefined);
      const isTaken = await one.connect().then(
        () => true,
        () => false,
      );
      if (isTaken) taken.push(one);
      else await sleep(50);
    }
  };
  world.proxy.reset();
  await Promise.all(Array.from({ length: TAKERS }, take));
  await Promise.all(taken.map((one) => one.end().catch(() => undefined)));
  return taken.length;
};

/**
 * Nothing more fits on the disk: Postgres panics at its log, cannot recover, and is started again
 * by its supervisor once there is room.
 */
export const diskFull: Fault = async ({ world, forMs }) => {
  world.disk!.fill();
  try {
    await sleep(forMs);
  } finally {
    world.disk!.empty();
  }
  await world.untilPostgresWrites();
  return 1;
};

const FULL_TABLES = ['task', 'batch', 'chunk', 'segment'];
/** What a full tablespace answers, at each write to these tables. */
export const tablesFull: Fault = (strike) =>
  asOperator(strike, async (db) => {
    await db.query(`
create or replace function disk_is_full() returns trigger language plpgsql as $$
begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`);
    for (const table of FULL_TABLES)
      await db.query(
        `create trigger disk_is_full before insert or update on ${table} for each statement execute function disk_is_full()`,
      );
    try {
      await sleep(strike.forMs);
    } finally {
      for (const table of FULL_TABLES) await db.query(`drop trigger disk_is_full on ${table}`);
      await db.query('drop function disk_is_full()');
    }
    return FULL_TABLES.length;
  });

/** A long transaction: nothing that was deleted is cleaned up. Others go on beside it. */
export const snapshot: Fault = (strike) =>
  asOperator(strike, async (db) => {
    await db.query('begin isolation level repeatable read');
    await db.query('select count(*) from task');
    await sleep(strike.forMs);
    await db.query('rollback');
    return 1;
  });
