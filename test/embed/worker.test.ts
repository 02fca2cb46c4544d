import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NativeConnection } from '@temporalio/worker';
import pg from 'pg';
import pino from 'pino';
import { createClient, defineFunction, defineHandler } from '../../client';
import type { Client, Handler } from '../../client';
import type { StartedWorker, StartOptions } from '../../workers/worker';
import { startWorker } from '../../workers/worker';
import { notifierWorkflowId } from '../../workflows/naming';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';

/**
 * `startWorker` within a program that has a server, a log, a pool and a connection already.
 *
 * @slow
 */

const handlerOf = (name: string, calls: string[]): Handler =>
  defineHandler<{ shop: string }>({
    name,
    target: ({ shop }) => shop,
    limits: { maxItems: 10 },
    linger: { lingerMs: 20 },
    submit: (batch) => {
      calls.push(name);
      return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
    },
  });

let database: TestDatabase;
let prefix: string;
let clients: Client[];
let workers: StartedWorker[];
beforeEach(async () => {
  database = await createDatabase();
  prefix = `embed-${randomBytes(5).toString('hex')}`;
  clients = [];
  workers = [];
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(clients.map((client) => client.close()));
  await database.drop();
});
const begin = async (more: Partial<StartOptions>): Promise<StartedWorker> => {
  const temporal = { address: temporalAddress() };
  const worker = await startWorker({ databaseUrl: database.url, prefix, temporal, log: 'silent', ...more });
  workers.push(worker);
  return worker;
};
const clientOf = (...handlers: Handler[]): Client => {
  const client = createClient({
    databaseUrl: database.url,
    prefix,
    handlers,
    temporal: { address: temporalAddress() },
  });
  clients.push(client);
  return client;
};
const task = (id: string) => ({ id, payload: { shop: 'se' } });

test('several workers of one process serve different handlers, and stop apart', async () => {
  const calls: string[] = [];
  const [first, second] = [handlerOf('first', calls), handlerOf('second', calls)];
  const [one, two] = await Promise.all([begin({ handlers: [first] }), begin({ handlers: [second] })]);
  expect(one.node).not.toBe(two.node);
  const client = clientOf(first, second);
  await Promise.all([client.submit('first', task('a')), client.submit('second', task('b'))]);
  await client.waitFor(['a', 'b']);
  expect(calls.sort()).toEqual(['first', 'second']);
  await one.stop();
  await client.submit('second', task('c'));
  await client.waitFor('c');
});

test('it listens to no signal, logs to the given pino only, and ends by an AbortSignal', async () => {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException', 'unhandledRejection'] as const;
  const listeners = (): number[] => signals.map((name) => process.listenerCount(name));
  const before = listeners();
  const lines: string[] = [];
  const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const stop = new AbortController();
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const worker = await begin({ handlers: [handlerOf('first', [])], log, signal: stop.signal });
  expect(listeners()).toEqual(before);
  stop.abort();
  await worker.ended;
  expect(written).not.toHaveBeenCalled();
  written.mockRestore();
  expect(lines.length).toBeGreaterThan(0);
});

test('a start that waits for a server is given up by its AbortSignal', async () => {
  const lines: string[] = [];
  const stop = new AbortController();
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const nowhere = 'postgres://nobody@127.0.0.1:1/none';
  const outcome = begin({ databaseUrl: nowhere, log, signal: stop.signal, startTimeoutMs: 200_000 }).then(
    () => 'started',
    ({ code }: { code: string }) => code,
  );
  await eventually(() => lines.some((line) => line.includes('Trying again')));
  stop.abort();
  expect(await Promise.race([outcome, new Promise((late) => setTimeout(late, 30_000, 'still waits'))])).toBe(
    'ABORT_ERR',
  );
});

test("the program's own pool and connection are used, and stay open", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 10, application_name: 'the program' });
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  const calls: string[] = [];
  const handler = handlerOf('first', calls);
  const worker = await begin({ handlers: [handler], pool, connection, temporal: { address: 'localhost:1' } });
  const client = clientOf(handler);
  await client.submit('first', task('a'));
  await client.waitFor('a');
  // The heartbeat connects in its thread, when that has loaded its modules.
  const names = await eventually(async () => {
    const { rows } = await pool.query<{ name: string }>(
      'select distinct application_name as name from pg_stat_activity where datname = current_database()',
    );
    const found = rows.map(({ name }) => name);
    return found.includes('muster heartbeat') && found;
  });
  expect(names).not.toContain('muster worker');
  await worker.stop();
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await connection.workflowService.getSystemInfo({});
  await Promise.all([pool.end(), connection.close()]);
});

test('health() says to a route of the host what /healthz says', async () => {
  const worker = await begin({ handlers: [handlerOf('first', [])] });
  const host = createServer((_, response) => {
    void worker.health().then((found) => response.writeHead(found.healthy ? 200 : 503).end(JSON.stringify(found)));
  });
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/`;
  const answer = await fetch(url);
  expect(answer.status).toBe(200);
  const { parts } = (await answer.json()) as { parts: { part: string; healthy: boolean }[] };
  expect(parts.map(({ part }) => part).sort()).toEqual(['database', 'temporal', 'turns', 'workers']);
  expect(parts.every(({ healthy }) => healthy)).toBe(true);
  await worker.stop();
  host.close();
});

test('health() names the part that does not work', async () => {
  const handler = handlerOf('first', []);
  const worker = await begin({ handlers: [handler] });
  await clientOf(handler).submit('first', task('a'));
  const stands = `update leader set state = 1 /* working */, woken_at = clock() - interval '1 minute',
    wake_at = null, expires_at = clock() + interval '1 minute'`;
  // A leader that was woken long ago and has taken no turn since; the sweeper wakes it again.
  const found = await eventually(async () => {
    await database.pool.query(stands);
    const report = await worker.health();
    return !report.healthy && report;
  });
  expect(found.parts.filter(({ healthy }) => !healthy)).toEqual([
    expect.objectContaining({ part: 'turns', error: expect.stringContaining('leader') }),
  ]);
});

test('it notes for explain how late the timers of its server fire', async () => {
  await begin({});
  const noted = async (): Promise<boolean> => {
    const { rows } = await database.pool.query<{ ms: number | null }>('select timers_late_ms as ms from node');
    return rows.length === 1 && rows[0]!.ms !== null && rows[0]!.ms >= 0;
  };
  await eventually(noted);
});

test('without handlers a worker runs executions', async () => {
  await begin({ functions: [defineFunction({ name: 'double', run: ([n]) => String(Number(n) * 2) })] });
  const execution = await clientOf().execute({ functionId: 'double', method: 'of' }, [['21']]);
  await eventually(async () => (await execution.status()).state === 'done');
});

test('without handlers and functions a worker keeps fan-outs', async () => {
  const worker = await begin({});
  const { fanouts, items } = clientOf();
  const { id } = await fanouts.open({});
  const added = await items.add(id, 2);
  await fanouts.seal(id);
  await items.ack(added);
  await eventually(async () => (await fanouts.get(id))?.state === 'complete');
  expect((await worker.health()).healthy).toBe(true);
});

test('the workflows that it starts link to the dashboard', async () => {
  const handler = handlerOf('told', []);
  await begin({ handlers: [handler], temporal: { address: temporalAddress(), dashboardUrl: 'https://m.example.com' } });
  const client = clientOf(handler);
  await client.submit('told', { ...task('a'), callback: { workflowId: 'none-has-this-id' } });
  const notifier = (await client.temporal()).workflow.getHandle(notifierWorkflowId(prefix));
  const { memo } = await eventually(() => notifier.describe().catch(() => null)); // until it is there
  expect(memo).toEqual({ muster: 'notifier', dashboard: 'https://m.example.com/#/callbacks' });
});
