import { randomUUID } from 'node:crypto';
import type { Client as TemporalClient } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import type { TakeAnswer, TakeInput } from '../../../activities/accepted/takeSignalled';
import { takeSignalled } from '../../../activities/accepted/takeSignalled';
import { createShared } from '../../../activities/createShared';
import type { ActivityDeps } from '../../../activities/deps';
import { defineHandler } from '../../../handlers';
import { monitorWorkflowId } from '../../../workflows/naming';
import { createPool, inTransaction } from '../../../postgres/pool';
import type { UnreadRun } from '../../../workflows/planning/unread';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';
import { Requests } from '../../../workflows/temporal/requests';
import { Outcomes } from '../../../activities/outcomes/outcomes';
import { OutcomeMeters } from '../../../activities/outcomes/meters';

/**
 * The activity that takes completions from a monitor's history, called by the test: on a real
 * history of a run that no worker serves, into a real store.
 *
 * @slow
 */

const PAGE = 50;
const jobs = defineHandler<{ to: string }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 1 },
  linger: { lingerMs: 10 },
  concurrency: { perTarget: 100, perHandler: 1_000 },
  submit: async (batch) => ({ status: 'accepted', reference: batch.tasks[0]!.id }),
});

let muster: TestMuster;
let temporal: TemporalClient;
let deps: ActivityDeps;
/** No worker serves it: the monitor that acceptances begin is another one. */
let prefix: string;
beforeAll(async () => {
  muster = await startMuster([jobs], { sweepEveryMs: 0 });
  temporal = await muster.client.temporal();
  prefix = `${muster.prefix}-told`;
  const handlers = new Map([[jobs.name, jobs]]);
  const base = { pool: muster.database.pool, temporal, requests: new Requests(temporal), handlers, node: 'n', prefix };
  const log = pino({ enabled: false });
  const outcomes = new Outcomes(new OutcomeMeters(handlers.keys()), log); // as a worker has them
  const all = { ...base, log, outcomes, draining: new AbortController().signal };
  deps = { ...all, ...createShared(all) } as Partial<ActivityDeps> as ActivityDeps;
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

interface Told {
  id?: string;
  result?: string;
}
/** That many batches are accepted; answers their references. */
const accepted = async (n: number): Promise<string[]> => {
  const name = randomUUID();
  const ids = Array.from({ length: n }, (_, i) => `${name}-${i}`);
  await muster.client.submit(
    'jobs',
    ids.map((id) => ({ id, payload: { to: name } })),
  );
  const count = 'select count(*)::int as n from batch where reference = any($1)';
  await eventually(async () => (await muster.database.pool.query<{ n: number }>(count, [ids])).rows[0]!.n === n);
  return ids;
};
/** Signals them to a new run of the monitor; answers that run. */
const signalled = async (references: readonly string[], told: Told = {}): Promise<string> => {
  const workflowId = monitorWorkflowId(prefix, 'jobs');
  await temporal.workflow
    .getHandle(workflowId)
    .terminate()
    .catch(() => undefined); // of the test before
  let runId = '';
  for (const reference of references) {
    const handle = await temporal.workflow.signalWithStart('monitor', {
      workflowId,
      taskQueue: prefix,
      args: [{ handler: 'jobs' }],
      signal: 'complete',
      signalArgs: [{ reference, results: [{ index: 0, status: 'ok', result: 'told', ...told }] }],
    });
    runId = handle.signaledRunId;
  }
  return runId;
};
const take = (
  input: Partial<TakeInput>,
  { of = deps, known = [], beat }: { of?: ActivityDeps; known?: UnreadRun[]; beat?: (run: UnreadRun[]) => void } = {},
): Promise<TakeAnswer> => {
  const activity = new MockActivityEnvironment({ heartbeatDetails: known }, { logger: new DefaultLogger('ERROR') });
  if (beat !== undefined) activity.on('heartbeat', beat);
  return activity.run(takeSignalled, of, { handler: 'jobs', unread: [], ...input });
};
/** A server whose answer to the request for a later page is late. */
const lateAfterFirstPage = (late: () => Promise<unknown>): ActivityDeps => {
  let pages = 0;
  const workflowService = new Proxy(temporal.workflowService, {
    get: (service, name) =>
      name === 'getWorkflowExecutionHistory'
        ? async (request: object) => {
            if (pages++ > 0) await late();
            return service.getWorkflowExecutionHistory(request);
          }
        : (Reflect.get(service, name) as unknown),
  });
  const slow = Object.create(temporal, { workflowService: { value: workflowService } }) as TemporalClient;
  return { ...deps, temporal: slow };
};
const handedOn = async (runId: string): Promise<string[]> => {
  const ids: string[] = [];
  const query = `WorkflowId STARTS_WITH '${prefix}/completion/jobs/${runId}'`;
  for await (const { workflowId } of temporal.workflow.list({ query })) ids.push(workflowId);
  return ids;
};

test('a run that has ended is read once, to its end', async () => {
  const references = await accepted(3);
  const runId = await signalled(references);
  await temporal.workflow.getHandle(monitorWorkflowId(prefix, 'jobs'), runId).terminate();
  expect(await take({ ended: runId })).toEqual({ unread: [], completed: 3, repeated: 0, handedOn: 0 });
  // As after an answer that was lost: it is read again, and counts once.
  expect(await take({ ended: runId })).toMatchObject({ unread: [], completed: 0, repeated: 3 });
});

test('a run that goes on stays to be read, from where it was left', async () => {
  const runId = await signalled(await accepted(3));
  const first = await take({ unread: [{ runId, taken: 0 }], running: { runId, wanted: 2 } });
  expect(first).toMatchObject({ completed: 3, repeated: 0, unread: [{ runId, taken: 3 }] });
  const again = await take({ unread: first.unread, running: { runId, wanted: 3 } });
  expect(again).toMatchObject({ completed: 0, repeated: 0, unread: [{ runId, taken: 3 }] });
});

test('an activity whose process died goes on where its last sign of life says', async () => {
  const runId = await signalled(await accepted(3));
  const running = { runId, wanted: 3 };
  const known = [{ runId, taken: 2 }];
  expect(await take({ unread: [{ runId, taken: 0 }], running }, { known })).toMatchObject({ completed: 1 });
  expect(await take({ unread: [{ runId, taken: 0 }], running })).toMatchObject({ completed: 2, repeated: 1 });
});

describe('more than a page', () => {
  test('it says every second how far it is', async () => {
    const runId = await signalled(await accepted(PAGE + 10));
    const beats: UnreadRun[][] = [];
    const of = lateAfterFirstPage(() => eventually(() => beats.length > 0, { what: 'a sign of life' }));
    const answer = await take(
      { unread: [{ runId, taken: 0 }], running: { runId, wanted: PAGE + 10 } },
      { of, beat: (run) => beats.push(run) },
    );
    expect(beats[0]).toMatchObject([{ runId, taken: expect.any(Number) }]);
    expect(beats[0]![0]!.taken).toBeGreaterThan(0);
    expect(answer.completed).toBeGreaterThanOrEqual(beats[0]![0]!.taken);
  });

  test('after two seconds it answers how far it came, so that the run may continue as new', async () => {
    const n = PAGE + 10;
    const runId = await signalled(await accepted(n));
    const since = performance.now();
    const of = lateAfterFirstPage(() => eventually(() => performance.now() - since > 3_500));
    const first = await take({ unread: [{ runId, taken: 0 }], running: { runId, wanted: n } }, { of });
    expect(first.completed).toBeGreaterThan(0);
    expect(first.completed).toBeLessThan(n);
    expect(first.unread).toMatchObject([{ runId, taken: first.completed }]);
    const rest = await take({ unread: first.unread, running: { runId, wanted: n } });
    expect(rest).toMatchObject({ completed: n - first.completed, repeated: 0 });
  });
});

test('a process that shuts down begins no further one, and loses none', async () => {
  const runId = await signalled(await accepted(2));
  const unread = [{ runId, taken: 0 }];
  const of = { ...deps, draining: AbortSignal.abort() };
  expect(await take({ unread, running: { runId, wanted: 2 } }, { of })).toMatchObject({ completed: 0, unread });
  expect(await take({ unread, running: { runId, wanted: 2 } })).toMatchObject({ completed: 2 });
});

test('while the store is away it fails, and is tried again: nothing is handed on', async () => {
  const runId = await signalled(await accepted(2));
  const pool = createPool({ databaseUrl: 'postgres://muster@127.0.0.1:1/none', max: 1 });
  const unread = [{ runId, taken: 0 }];
  try {
    await expect(take({ unread, running: { runId, wanted: 2 } }, { of: { ...deps, pool } })).rejects.toThrow();
  } finally {
    await pool.end();
  }
  expect(await take({ unread, running: { runId, wanted: 2 } })).toMatchObject({ completed: 2, handedOn: 0 });
  expect(await handedOn(runId)).toEqual([]);
});

test('a completion whose batch another transaction holds is handed on: the others count at once', async () => {
  const references = await accepted(3);
  const runId = await signalled(references);
  const pool = createPool({ databaseUrl: muster.database.url, max: 5, statementTimeoutMs: 1_000 });
  const unread = [{ runId, taken: 0 }];
  try {
    const answer = await inTransaction(muster.database.pool, async (tx) => {
      await tx.query(`select from batch where reference = $1 for update`, [references[1]]);
      return take({ unread, running: { runId, wanted: 3 } }, { of: { ...deps, pool } });
    });
    expect(answer).toMatchObject({ completed: 2, handedOn: 1, unread: [{ runId, taken: 3 }] });
  } finally {
    await pool.end();
  }
  expect(await eventually(async () => (await handedOn(runId)).length > 0 && handedOn(runId))).toHaveLength(1);
  // What was handed on is taken by a workflow of its own; here, by reading the run again.
  expect(await take({ ended: runId })).toMatchObject({ completed: 1, repeated: 2 });
});

test('it ends after what it rang for has been rung', async () => {
  const runId = await signalled(await accepted(1));
  let rung = false;
  const idle = async (): Promise<void> => {
    await new Promise(setImmediate);
    rung = true;
  };
  const completionRings = { of: () => ({ addBehind: () => undefined, idle }) };
  await take({ unread: [{ runId, taken: 0 }], running: { runId, wanted: 1 } }, { of: { ...deps, completionRings } });
  expect(rung).toBe(true);
});

test.each([
  ['small ones together', 5, 100, 1],
  ['at most 500 kB of them', 5, 200_000, 3],
])('refused ones are handed on, %s', async (_, n, bytes, workflows) => {
  const runId = await signalled(await accepted(n), { id: 'stranger', result: 'x'.repeat(bytes) });
  const sent = (): number => deps.requests.counts().find(({ kind }) => kind === 'completion')?.n ?? 0;
  const before = sent();
  const answer = await take({ unread: [{ runId, taken: 0 }], running: { runId, wanted: n } });
  expect(answer).toMatchObject({ completed: 0, handedOn: n });
  await eventually(async () => (await handedOn(runId)).length >= workflows);
  expect(await handedOn(runId)).toHaveLength(workflows);
  expect(sent() - before).toBe(workflows);
});
