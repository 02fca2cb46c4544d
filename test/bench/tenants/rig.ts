import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../../client';
import { createClient } from '../../../client';
import type { TenantLimits } from '../../../postgres/api/tenant';
import { NO_QUOTAS, upsertTenant } from '../../../postgres/api/tenant';
import { insertToken } from '../../../postgres/api/token';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { startServers } from '../../api/servers';
import type { CliProcess } from '../../cli/process';
import { startCli } from '../../cli/process';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, temporalAddress } from '../../helpers/database';

/** Servers, one API and one worker, each a process of its own, and tokens of tenants. */

/** A downstream that takes 100 tasks in 20 ms, at most 16 calls at once. */
const CONFIG = `
import { defineHandler } from 'temporal-muster';
const handler = (name: string) =>
  defineHandler<{ to: string }>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 100 },
    linger: { lingerMs: 50 },
    concurrency: { perTarget: 4, perHandler: 16 },
    submit: async (batch) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });
export const handlers = [handler('shared'), handler('other')];
`;
const PREFIX = 'tenants';
/** How long tasks that were accepted may take to end. */
const DRAIN_MS = 300_000;
const EVERY_MS = 200;
/** The API reads tokens again every two seconds. */
const TOKENS_MS = 3_000;

export interface Rig {
  port: number;
  client: Client;
  database: TestDatabase;
  /** A token of this tenant that may submit and read. Call `settle` after the last one. */
  token(tenant: string, limits?: Partial<TenantLimits>): Promise<string>;
  /** Until the API knows all tokens. */
  settle(): Promise<void>;
  /** Until no task waits. */
  drained(): Promise<void>;
  /** Part of all processors that API and worker took since the last call. */
  processorShares(): { api: number; worker: number };
  stop(): Promise<void>;
}

/** Returns the program of this checkout, from dist/ or from the sources. */
const program = (): string => {
  for (let at = __dirname; ; at = path.dirname(at)) {
    const file = path.join(at, 'bin', 'muster.js');
    if (existsSync(file)) return file;
  }
};

const TICK_MS = 10;
/** Returns how long a process has computed, in ms (Linux). */
const computedMs = ({ child }: CliProcess): number => {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
};

export const openRig = async (): Promise<Rig> => {
  const stopServers = await startServers();
  const database = await createDatabase();
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-tenants-'));
  writeFileSync(path.join(folder, 'muster.config.ts'), CONFIG);
  const env = { MUSTER_DATABASE_URL: database.url, TEMPORAL_ADDRESS: temporalAddress(), MUSTER_PREFIX: PREFIX };
  const start = (...args: string[]): CliProcess =>
    startCli([...args, '--log-level', 'info'], { cwd: folder, env, bin: program() });
  const worker = start('worker');
  await worker.says(/"msg":"ready"/);
  const api = start('api', '--json', '--port', '0');
  await api.says(/"ready":true.*\n/);
  const { url } = JSON.parse(api.stdout().split('\n')[0]!) as { url: string };
  const client = createClient({
    databaseUrl: database.url,
    prefix: PREFIX,
    handlers: [],
    temporal: { address: temporalAddress() },
  });
  let last = { at: performance.now(), api: computedMs(api), worker: computedMs(worker) };
  return {
    port: Number(new URL(url).port),
    client,
    database,
    token: async (tenant, limits = {}) => {
      await upsertTenant(database.pool, tenant, { ...NO_QUOTAS, ...limits });
      const token = newToken();
      await insertToken(database.pool, { name: tenant, hash: hashToken(token), scopes: ['submit', 'read'], tenant });
      return token;
    },
    settle: () => sleep(TOKENS_MS),
    drained: () => drained(database),
    processorShares: () => {
      const now = { at: performance.now(), api: computedMs(api), worker: computedMs(worker) };
      const shareOf = (part: 'api' | 'worker'): number =>
        Math.round(((now[part] - last[part]) / (now.at - last.at) / cpus().length) * 1_000) / 1_000;
      const shares = { api: shareOf('api'), worker: shareOf('worker') };
      last = now;
      return shares;
    },
    stop: async () => {
      for (const { child } of [api, worker]) child.kill('SIGTERM');
      await Promise.all([api.exit, worker.exit]);
      await client.close();
      await database.drop();
      await stopServers();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

const drained = async ({ pool }: TestDatabase): Promise<void> => {
  for (const until = performance.now() + DRAIN_MS; ; await sleep(EVERY_MS)) {
    const { rowCount } = await pool.query(
      `select from (select from queue limit 1) q
       union all select from (select from batch where state in (1 /* open */, 3 /* unknown */) limit 1) b`,
    );
    if (rowCount === 0) return;
    if (performance.now() > until) throw new Error(`tenants: tasks have not ended after ${DRAIN_MS / 1_000} s`);
  }
};

/** Returns how many of these accepted tasks are not in the store, or have not succeeded. */
export const lostOf = async ({ database }: Rig, ids: readonly string[]): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>({
    text: 'select count(*)::int as n from task_state where id = any($1::text[]) and state = 4 /* succeeded */',
    values: [ids],
  });
  return ids.length - rows[0]!.n;
};

/** Returns how many tasks of each tenant have succeeded. */
export const endedOf = async ({ database }: Rig): Promise<Record<string, number>> => {
  const { rows } = await database.pool.query<{ tenant: string; n: number }>(
    `select split_part(id, '/', 1) as tenant, count(*)::int as n
     from task_state
     where state = 4 /* succeeded */ group by 1`,
  );
  return Object.fromEntries(rows.map(({ tenant, n }) => [tenant, n]));
};

/** Returns how long each of these tasks took from its acceptance to its call of the downstream. */
export const waitsOf = async ({ database }: Rig, ids: readonly string[]): Promise<number[]> => {
  const { rows } = await database.pool.query<{ ms: number }>({
    text: `select extract(epoch from b.called_at - k.created_at)::float8 * 1000 as ms
           from task k join member m on m.seq = k.seq join batch b on b.id = m.batch_id
           where k.id = any($1::text[]) and b.called_at is not null`,
    values: [ids],
  });
  return rows.map(({ ms }) => ms);
};
