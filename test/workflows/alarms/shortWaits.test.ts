import { setTimeout as sleep } from 'node:timers/promises';
import { Client as TemporalClient, Connection } from '@temporalio/client';
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
const times = async (client: Client): Promise<number[]> => {
  const took: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    const begun = performance.now();
    await submit(client, 'lone', `lone-${i}`);
    await called(took.length + 1);
    took.push(calledAt.at(-1)! - begun);
    await sleep(APART_MS);
  }
  return took.sort((a, b) => a - b);
};
const median = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)]!;

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

test('a linger of 250 ms is kept by a worker that found timers late; the server alone takes a second', async () => {
  const before = await startMuster(handlers, { address: server.address, sweepEveryMs: 0 });
  const late = await times(before.client);
  expect(late.at(-1)).toBeGreaterThan(600);

  await before.node.noteTimers(1_000);
  calledAt.splice(0);
  await submit(before.client, 'pairs', 'early-0');
  await submit(before.client, 'pairs', 'early-1');
  await submit(before.client, 'lone', 'counted');
  await called(2);
  await sleep(APART_MS);
  const counts = before.node.deps.requests.counts().filter(({ kind }) => kind === 'alarm');
  // None for the batch that was full before its time.
  expect(counts).toEqual([{ kind: 'alarm', handler: 'lone', n: 1 }]);
  await before.stop();

  calledAt.splice(0);
  const own = { databaseUrl: database.url, prefix: 'alarms', temporal: { address: server.address } };
  const worker = await startWorker({ ...own, handlers, log: 'silent' });
  const client = createClient({ ...own, handlers });
  await eventually(
    async () => (await database.pool.query('select from node where timers_late_ms >= 1000')).rowCount === 1,
    { timeoutMs: 30_000, what: 'the worker to measure' },
  );
  const kept = await times(client);
  expect(kept[0]).toBeGreaterThanOrEqual(LINGER_MS - 5);
  expect(median(kept)).toBeLessThan(Math.min(600, median(late)));
  expect(await signals('alarms', 'lone')).toBeGreaterThanOrEqual(2);

  calledAt.splice(0);
  await submit(client, 'pairs', 'p-0');
  await submit(client, 'pairs', 'p-1');
  await called(1);
  await sleep(APART_MS);
  // What was full before its time: the start's signal, and one that it is full.
  expect([calledAt.length, await signals('alarms', 'pairs')]).toEqual([1, 2]);
  await client.close();
  await worker.stop();
});
