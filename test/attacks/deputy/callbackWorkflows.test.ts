import type { Callback } from '../../../client/tasks/checkTasks';
import { defineHandler } from '../../../handlers';
import type { ApiWorld } from '../../api/world';
import { openWorld } from '../../api/world';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { Tally } from '../tally';

/**
 * Callbacks that name a workflow: a caller of the HTTP API must not signal what it cannot reach
 * itself, and no caller Muster's own workflows.
 *
 * @slow
 */

const jobs = defineHandler<{ to: string }>({
  name: 'jobs',
  target: (task) => task.to,
  limits: { maxItems: 10 },
  leaders: 1,
  submit: async (batch) => ({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});
const lane = defineHandler<{ to: string }>({
  name: 'lane',
  target: (task) => task.to,
  service: (target) => target,
  lane: { approach: 'serial' },
  limits: { maxItems: 10 },
  submit: async (batch) => ({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

let muster: TestMuster;
let closed: ApiWorld;
let open: ApiWorld;
beforeAll(async () => {
  const workflows = { allow: ['order-*', `*`], signals: ['order*'], http: [] };
  muster = await startMuster([jobs, lane], { callbacks: { allow: [], secret: null, workflows } });
  const { database, prefix } = muster;
  const of = { handlers: [jobs, lane], muster: { database, prefix } };
  closed = await openWorld(of);
  const http = { allow: ['*'], signals: ['order*'], http: ['order-*'] };
  open = await openWorld({ ...of, callbacks: { allow: [], secret: null, workflows: http } });
});
afterAll(async () => {
  await Promise.all([closed.stop(), open.stop()]);
  await muster.stop();
});

let count = 0;
/** Sends the callback through every door of the API that takes one. */
const throughAll = async ({ call }: ApiWorld, callback: object) => {
  const id = `door-${++count}`;
  const task = { id, payload: { to: id }, callback };
  return Promise.all([
    call('POST /v1/handlers/jobs/tasks', { body: { tasks: [task] } }),
    call('POST /v1/handlers/jobs/tasks', { body: { tasks: [{ ...task, id: `${id}-p` }], partial: true } }),
    call('POST /v1/handlers/jobs/tasks', { body: { tasks: [{ ...task, id: `${id}-k` }] }, key: `key-${id}` }),
    call('POST /v1/handlers/lane/batches', {
      body: { batches: [{ service: id, items: [{ ...task, id: `${id}-l` }] }] },
    }),
    call('POST /v1/fanouts', { body: { notify: callback } }),
    call('POST /v1/fanouts', { body: { notify: callback }, key: `fanout-${id}` }),
  ]);
};
/** The same, and through a fix: it is refused before it is known that there is no such lane. */
const throughAllAndFix = async (world: ApiWorld, callback: object) => {
  const items = [{ id: `door-${++count}`, payload: { to: 'halted' }, callback }];
  const fix = await world.call('POST /v1/lanes/halted/fix', { body: { items } });
  return [fix, ...(await throughAll(world, callback))];
};
const recipients = async (): Promise<number> => {
  const text = "select count(*)::int as n from recipient where address ? 'workflowId'";
  return (await muster.database.pool.query<{ n: number }>({ text })).rows[0]!.n;
};

/** Muster's own workflows, of this prefix and of another, and spellings of their ids. */
const own = (): string[] =>
  [muster.prefix, 'other'].flatMap((prefix) => [
    `${prefix}/notifier`,
    `${prefix}/balancer`,
    `${prefix}/queuer/1`,
    `${prefix}/monitor/jobs`,
    `${prefix}/leader/jobs/a/0`,
    `${prefix}/completion/jobs/1`,
    `${prefix}/execution/6f1b6a1e-2f0c-4f7e-9a51-0d8a2b9b2c11`,
  ]);

describe('the HTTP API', () => {
  const tally = new Tally('callback.workflowId of callers of the HTTP API');

  test('refuses every workflow by default, and names the field and the setting', async () => {
    const before = await recipients();
    const named = ['order-1', 'any', '*', ' order-1', `${muster.prefix}/notifier`, ...own()];
    for (const workflowId of named)
      for (const more of [{}, { runId: 'r' }, { signal: 'musterTasksEnded' }, { signal: 'look' }, { signal: '__x' }])
        for (const { status, text } of await throughAllAndFix(closed, { workflowId, ...more }))
          tally.add(`${workflowId} ${JSON.stringify(more)}`, status === 422 ? null : `${status} ${text}`);
    expect(await recipients()).toBe(before);
    const { body } = await closed.call('POST /v1/handlers/jobs/tasks', {
      body: {
        tasks: [
          { id: 'a', payload: { to: 'a' } },
          { id: 'b', payload: { to: 'b' }, callback: { workflowId: 'x' } },
        ],
      },
    });
    expect(body).toMatchObject({
      code: 'NOT_ALLOWED',
      errors: [
        {
          field: 'tasks[1].callback.workflowId',
          message: 'expected one that callbacks.workflows.http of the config file names (none), got "x"',
        },
      ],
    });
    tally.expectNoneThrough(400);
  });

  test('with a list, takes what it names; never Muster’s own, and no signal that is not named', async () => {
    for (const callback of [{ workflowId: 'order-7' }, { workflowId: 'order-7', signal: 'orderDone' }])
      for (const { status } of await throughAll(open, callback)) expect([200, 201]).toContain(status);
    const wrong: Callback[] = [
      ...own().map((workflowId) => ({ workflowId })),
      ...['bill-1', 'Order-1', 'x-order-1', 'order', ' order-1', '\torder-1', 'order\u200b-1'].map((workflowId) => ({
        workflowId,
      })),
      ...['look', 'complete', 'pay', '__stack_trace', 'Order', ' orderDone', 'mustertasksended'].map((signal) => ({
        workflowId: 'order-7',
        signal,
      })),
    ];
    for (const callback of wrong)
      for (const { status, text } of await throughAllAndFix(open, callback))
        tally.add(JSON.stringify(callback), status === 422 ? null : `${status} ${text}`);
    tally.expectNoneThrough(500);
  });
});

describe('a worker', () => {
  const tally = new Tally('callback.workflowId of callers of the library');

  /** Returns the names of the signals that a workflow got. */
  const signalsOf = async (workflowId: string): Promise<string[]> => {
    const temporal = await muster.client.temporal();
    const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
    return events!.flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? []);
  };
  const start = async (workflowId: string): Promise<void> => {
    await (await muster.client.temporal()).workflow.start('user', { workflowId, taskQueue: 'nobody' });
  };
  const deliveredOrGivenUp = (ids: string[]) =>
    eventually(async () => {
      const text = `select r.address->>'workflowId' as id, r.address->>'signal' as signal, n.error
        from notification n join recipient r on r.id = n.recipient_id
        where r.address->>'workflowId' = any($1) and n.done_at is not null`;
      const { rows } = await muster.database.pool.query<{ id: string; signal: string | null; error: string | null }>({
        text,
        values: [ids],
      });
      return rows.length >= ids.length && rows;
    });

  test('signals no workflow of Muster, and by no other signal than its own and those named', async () => {
    const user = `${muster.prefix}-user`;
    const others = own().map((id) => (id.startsWith('other/') ? `${muster.prefix}.${id}` : id));
    const foreign = others.filter((id) => id.startsWith(`${muster.prefix}.other/`));
    for (const id of [user, ...foreign]) await start(id);
    const callbacks: Callback[] = [
      ...others.map((workflowId) => ({ workflowId })),
      ...['look', 'complete', '__x'].map((signal) => ({ workflowId: user, signal })),
    ];
    await muster.client.submit('jobs', [
      ...callbacks.map((callback, i) => ({ id: `w${i}`, payload: { to: 'w' }, callback })),
      { id: 'good', payload: { to: 'w' }, callback: { workflowId: user, signal: 'orderDone' } },
      { id: 'usual', payload: { to: 'w' }, callback: { workflowId: user } },
    ]);
    const named = [...others, user, user, user, user, user];
    const rows = await deliveredOrGivenUp(named);
    for (const { workflowId, signal } of callbacks as { workflowId: string; signal?: string }[]) {
      const row = rows.find((one) => one.id === workflowId && one.signal === (signal ?? null));
      const isRefused = row?.error?.startsWith(`${signal === undefined ? 'workflowId' : 'signal'}: expected`);
      tally.add(
        `${workflowId} ${signal ?? ''}`,
        isRefused === true ? null : `not refused: ${row?.error ?? 'delivered'}`,
      );
    }
    expect((await signalsOf(user)).sort()).toEqual(['musterTasksEnded', 'orderDone']);
    for (const id of foreign) tally.add(`signals of ${id}`, (await signalsOf(id)).join(', ') || null);
    tally.expectNoneThrough(20);
  });
});

const bySql = new Tally('callback.workflowId of callers of SQL');

test('a submit by SQL names no workflow: who may call it reaches no Temporal', async () => {
  const before = await recipients();
  for (const workflowId of ['order-1', 'any', '*', ...own()])
    for (const more of [{}, { runId: 'r' }, { signal: 'musterTasksEnded' }]) {
      const text = `select submit('jobs', 'by-sql', '{"to": "sql"}', 'sql', callback => $1)`;
      const values = [JSON.stringify({ workflowId, ...more })];
      const said = await muster.database.pool.query({ text, values }).then(
        () => 'taken',
        (error: { detail?: string }) => (error.detail === 'INVALID_CALLBACK' ? null : String(error)),
      );
      bySql.add(`${workflowId} ${JSON.stringify(more)}`, said);
    }
  expect(await recipients()).toBe(before);
  bySql.expectNoneThrough(45);
});
