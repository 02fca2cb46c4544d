import { setTimeout as sleep } from 'node:timers/promises';
import { Client as TemporalClient, Connection } from '@temporalio/client';
import pino from 'pino';
import type { Client } from '../../../client';
import { createClient } from '../../../client';
import { defineHandler } from '../../../handlers';
import type { Handler } from '../../../handlers';
import { startTemporalDev } from '../../../workers/embedded';
import type { TemporalDev } from '../../../workers/embedded';
import { startWorker } from '../../../workers/worker';
import { leaderWorkflowId } from '../../../workflows/naming';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { startMuster } from '../../helpers/muster';

/** @slow */

/** Waits under a second on a server that looks at its timers once per second. */

const TIMES = 5;
/** A server may start one run per second and workflow id. */
const APART_MS = 1_200;
const LINGER_MS = 250;

const calledAt: number[] = [];
const errands = (name: string, maxItems: number, lingerMs: number): Handler =>
  defineHandler<{ to: string }>({
    name,
    target: ({ to }) => to,
    limits: { maxItems },
    linger: { lingerMs },
    leaders: 1,
    submit: (batch) => {
      calledAt.push(performance.now());
      return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
    },
  });
const handlers = [errands('lone', 10, LINGER_MS), errands('pairs', 2, 900)];

let server: TemporalDev;
let temporal: TemporalClient;
let database: TestDatabase;
beforeAll(async () => {
  server = await startTemporalDev({ ui: false, dynamicConfig: { 'history.timerProcessorMaxTimeShift': '1s' } });
  temporal = new TemporalClient({ connection: await Connection.connect({ address: server.address }) });
  database = await createDatabase();
});
afterAll(async () => {
  await database.drop();
  await temporal.connection.close();
  await server.stop();
});
beforeEach(() => calledAt.splice(0));

const submit = (client: Client, handler: string, ...ids: string[]): Promise<unknown> =>
  client.submit(
    handler,
    ids.map((id) => ({ id, payload: { to: 'se' } })),
  );
const called = (n: number): Promise<unknown> => eventually(() => calledAt.length >= n, { what: `${n} calls` });

/** Returns the times from the submit of a lone task to its call (ms), the shortest first. */
const times = async (client: Client, ids = 'lone'): Promise<number[]> => {
  const took: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    const begun = performance.now();
    await submit(client, 'lone', `${ids}-${i}`);
    await called(took.length + 1);
    took.push(calledAt.at(-1)! - begun);
    await sleep(APART_MS);
  }
  return took.sort((a, b) => a - b);
};

/** Starts a worker that serves its metrics, and a client beside it. */
const begin = async (): Promise<{ client: Client; alarms: () => Promise<number>; stop: () => Promise<void> }> => {
  const own = { databaseUrl: database.url, prefix: 'alarms', temporal: { address: server.address } };
  const lines: { msg: string; url?: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const worker = await startWorker({ ...own, handlers, log, metrics: { port: 0 } });
  const { url } = lines.find(({ msg }) => msg === 'serving metrics')!;
  const client = createClient({ ...own, handlers });
  return {
    client,
    alarms: async () => Number(/kind="alarm",handler="lone"} (\d+)/.exec(await (await fetch(url!)).text())?.[1] ?? 0),
    stop: async () => {
      await client.close();
      await worker.stop();
    },
  };
};

/** Returns how many signals the last run of a leader got, that of its start included. */
const signals = async (prefix: string, handler: string): Promise<number> => {
  const { rows } = await database.pool.query<{ id: number; name: string }>(
    'select l.id, l.name from leader l join handler h on h.id = l.handler_id where h.name = $1',
    [handler],
  );
  const { id, name } = rows[0]!;
  const { events } = await temporal.workflow.getHandle(leaderWorkflowId(prefix, handler, name, id)).fetchHistory();
  return events!.filter((event) => event.workflowExecutionSignaledEventAttributes != null).length;
};

test('a linger of 250 ms is ended by a worker that found timers late, and not before', async () => {
  const before = await startMuster(handlers, { address: server.address, sweepEveryMs: 0 });
  await before.node.noteTimers(1_000, true);
  calledAt.splice(0);
  await submit(before.client, 'pairs', 'early-0');
  await submit(before.client, 'pairs', 'early-1');
  await called(1);
  calledAt.splice(0);
  await times(before.client);
  const counts = before.node.deps.requests.counts().filter(({ kind }) => kind === 'alarm');
  // None for the batch that was full before its time. By chance a timer of the server comes first.
  expect(counts).toEqual([{ kind: 'alarm', handler: 'lone', n: expect.any(Number) }]);
  await before.stop();

  calledAt.splice(0);
  const { client, alarms, stop } = await begin();
  await eventually(
    async () => (await database.pool.query('select from node where timers_late_ms >= 1000')).rowCount === 1,
    { timeoutMs: 30_000, what: 'the worker to measure' },
  );
  const kept = await times(client);
  expect(kept[0]).toBeGreaterThanOrEqual(LINGER_MS - 5);
  expect(await alarms()).toBeGreaterThan(0);

  calledAt.splice(0);
  await submit(client, 'pairs', 'p-0');
  await submit(client, 'pairs', 'p-1');
  await called(1);
  await sleep(APART_MS);
  // What was full before its time: the start's signal, and one that it is full.
  expect([calledAt.length, await signals('alarms', 'pairs')]).toEqual([1, 2]);
  await stop();
});

test('while another worker measures, a linger is ended by what live ones found, not gone ones', async () => {
  const probe = { taskQueue: 'none', workflowId: 'alarms/timer-probe' };
  const measuring = await temporal.workflow.start('timerProbe', probe);
  const nodes = (seen: string, lateMs: number): Promise<unknown> =>
    database.pool.query(
      `insert into node (id, task_queue, handlers, version, started_at, seen_at, timers_late_ms)
       values ($1::text, 'none', '{}', '1', clock(), clock() - ($1::text)::interval, $2)`,
      [seen, lateMs],
    );
  await nodes('2 minutes', 1_000);
  const { client, alarms, stop } = await begin();
  calledAt.splice(0);
  await times(client, 'late');
  expect(await alarms()).toBe(0);
  await nodes('0 s', 1_000);
  await sleep(4_000); // it looks every 3 s
  calledAt.splice(0);
  await times(client, 'known');
  expect(await alarms()).toBeGreaterThan(0);
  const { rows } = await database.pool.query('select timers_late_ms from node where task_queue <> $1', ['none']);
  expect(rows).toEqual([{ timers_late_ms: null }]); // it has measured nothing itself
  await measuring.terminate('measured');
  await stop();
});
