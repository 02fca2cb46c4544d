import pg from 'pg';
import { defineHandler } from '../../handlers';
import { checkSchema, migrate } from '../../postgres/migrating/migrate';
import { createPool, inTransaction } from '../../postgres/pool';
import { createClient } from '../../client';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { Proxy } from '../helpers/proxy';
import { startProxyOf } from '../helpers/proxy';

interface Work {
  to: string;
}
const ok = (batch: { tasks: readonly { id: string }[] }) =>
  Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
const target = (work: Work): string => work.to;
const jobs = defineHandler<Work>({ name: 'jobs', target, limits: { maxItems: 50 }, submit: ok });
const ordered = defineHandler<Work>({
  name: 'ordered',
  target,
  service: (to) => to,
  lane: { approach: 'serial' },
  limits: { maxItems: 10 },
  submit: ok,
});

/**
 * What a client of Postgres sends on one connection: the parameters of its start, and the names
 * under which it prepares statements.
 */
const readProtocol = (bytes: Buffer): { parameters: string[]; named: string[] } => {
  const start = bytes.readInt32BE(0);
  const parameters = bytes
    .subarray(8, start)
    .toString()
    .split('\0')
    .filter((_, i) => i % 2 === 0)
    .filter((name) => name !== '');
  const named: string[] = [];
  for (let at = start; at + 5 <= bytes.length; at += 1 + bytes.readInt32BE(at + 1)) {
    if (bytes.toString('latin1', at, at + 1) !== 'P') continue; // Parse
    const name = bytes.toString('utf8', at + 5, bytes.indexOf(0, at + 5));
    if (name !== '') named.push(name);
  }
  return { parameters, named };
};

let proxy: Proxy;
let muster: TestMuster;
let behindPooler: string;
let sent: Buffer[];
beforeAll(async () => {
  // Its own sessions say what a session has set; those through the proxy have nothing set but what
  // each transaction sets.
  // No sweeper: it would wake the other node's queuer under its own prefix, where no worker makes
  // calls.
  muster = await startMuster([], { sweepEveryMs: 0 });
  proxy = await startProxyOf(muster.database.url);
  behindPooler = `${proxy.through(muster.database.url)}?pgbouncer=true`;
  sent = proxy.record();
});
afterAll(async () => {
  await muster.stop();
  await proxy.stop();
});

test('behind a pooler: nothing is kept in a session, and tasks, lanes, reports and the heartbeat thread work all the same', async () => {
  const pool = createPool({ databaseUrl: behindPooler, max: 8 });
  const node = await startMuster([jobs, ordered], { pool, sweepEveryMs: 500 });
  const client = createClient({
    databaseUrl: behindPooler,
    handlers: [jobs, ordered],
    prefix: node.prefix,
    temporal: { address: temporalAddress() },
  });
  try {
    await client.submit('jobs', { id: 'one', payload: { to: 'a' } });
    await client.submit(
      'jobs',
      Array.from({ length: 60 }, (_, i) => ({ id: `copied-${i}`, payload: { to: 'a' } })),
    );
    await client.submitBatch('ordered', 'po-1', [{ id: 'in-lane', payload: { to: 'po-1' } }]);
    await client.submit('jobs', { id: 'one', payload: { to: 'a' } }); // a repeat
    const ids = ['one', 'copied-59', 'in-lane'];
    await eventually(async () => (await client.getTasks(ids)).every(({ state }) => state === 'succeeded'), {
      what: async () => JSON.stringify(await Promise.all(ids.map((id) => client.explain(id)))),
    });
    expect((await client.verify()).ok).toBe(true);
    await eventually(async () => (await client.nodes()).length > 0);
  } finally {
    await client.close();
    await node.stop();
    await pool.end();
  }
  const connections = sent.map(readProtocol);
  expect(connections.length).toBeGreaterThan(2);
  expect(new Set(connections.flatMap(({ parameters }) => parameters))).toEqual(
    new Set(['user', 'database', 'application_name', 'client_encoding']),
  );
  expect(connections.flatMap(({ named }) => named)).toEqual([]);
});

test('each transaction begins with what a session of ours has set, also one that begins with settings of its own', async () => {
  const [usual, pooled] = [muster.database.url, behindPooler].map((databaseUrl) => createPool({ databaseUrl, max: 1 }));
  const names = ['search_path', 'enable_seqscan', 'jit', 'lock_timeout', 'statement_timeout', 'transaction_isolation'];
  const text = `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}, current_setting('idle_in_transaction_session_timeout') as idle`;
  const { rows } = await usual!.query<Record<string, string>>(text);
  expect(rows[0]).toMatchObject({ search_path: 'muster, pg_temp', enable_seqscan: 'off', idle: '15s' });
  expect((await pooled!.query(text)).rows).toEqual(rows);
  const begin = `begin; set local idle_in_transaction_session_timeout = '4s'`;
  const inside = await inTransaction(pooled!, (tx) => tx.query(text), begin);
  expect(inside.rows).toEqual([{ ...rows[0], idle: '4s' }]);
  const bare = await inTransaction(pooled!, (tx) => tx.query('commit; show search_path'));
  expect(JSON.stringify(bare)).toContain('public'); // nothing of it stays in the session
  await Promise.all([usual!.end(), pooled!.end()]);
});

test('settings that were dropped at the start of a session are told from tables that are missing', async () => {
  const pool = new pg.Pool({ connectionString: muster.database.url });
  await expect(checkSchema(pool)).rejects.toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
    message: expect.stringContaining('add ?pgbouncer=true'),
  });
  await pool.end();
});

test('a migration through a pooler is refused: it holds a lock of its session', async () => {
  await expect(migrate(behindPooler)).rejects.toMatchObject({ code: 'INVALID_DATABASE_URL' });
});
