import { defineHandler } from '../../handlers';
import type { Handler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { actionsOf, countOf } from './histories';
import type { OwnMuster } from './ownNode';
import { openOwn } from './ownNode';

/** @full */

/**
 * Runs of the leader workflow on the dev server: what they cost, and what comes between their
 * tasks. No sweeper.
 */
interface Errand {
  to: string;
}
const calls: { ids: string[]; at: number }[] = [];
let gate: Promise<void> = Promise.resolve();
const errands = (name: string, maxItems: number, lingerMs: number): Handler =>
  defineHandler<Errand>({
    name,
    target: ({ to }) => to,
    limits: { maxItems },
    linger: { lingerMs },
    leaders: 1,
    submit: async (batch) => {
      calls.push({ ids: batch.tasks.map(({ id }) => id), at: Date.now() });
      await gate;
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });
const handlers = [
  errands('lone', 10, 200),
  errands('pairs', 2, 60_000),
  errands('backlog', 100, 0),
  errands('slow', 10, 0),
];

let muster: OwnMuster;
beforeEach(async () => {
  calls.splice(0);
  gate = Promise.resolve();
  muster = await openOwn(handlers);
});
afterEach(() => muster.stop());

const succeeded = (n: number): Promise<true> =>
  eventually(
    async () => {
      const { rows } = await muster.database.pool.query<{ n: number }>(
        'select count(*)::int as n from task_state where state = 4',
      );
      return rows[0]!.n >= n ? true : null;
    },
    { timeoutMs: 60_000, what: `${n} tasks to succeed` },
  );
const closed = (handler: string): Promise<true> =>
  eventually(async () => countOf(await muster.historyOf(handler), 'workflowExecutionCompletedEventAttributes') === 1, {
    timeoutMs: 60_000,
    what: `the leader of ${handler} to end`,
  });
const submit = (handler: string, ...ids: string[]): Promise<unknown> =>
  muster.client.submit(
    handler,
    ids.map((id) => ({ id, payload: { to: 'se' } })),
  );

test('a lone batch with its linger costs 4 actions: start, timer, look, dispatch [G12]', async () => {
  await muster.startNode();
  const submitted = Date.now();
  await submit('lone', 'l-0', 'l-1');
  await succeeded(2);
  await closed('lone');
  const events = await muster.historyOf('lone');
  expect(actionsOf(events)).toBe(4);
  expect(countOf(events, 'workflowTaskCompletedEventAttributes')).toBe(3);
  expect(calls.map(({ ids }) => ids)).toEqual([['l-0', 'l-1']]);
  expect(calls[0]!.at - submitted).toBeGreaterThanOrEqual(200);
});

const BATCHES = rounds(60, 200);
test(`a backlog of ${BATCHES} batches costs far below one action a batch`, async () => {
  await muster.startNode();
  const tasks = Array.from({ length: BATCHES * 100 }, (_, i) => ({ id: `b-${i}`, payload: { to: `t${i % 20}` } }));
  for (let i = 0; i < tasks.length; i += 10_000) await muster.client.submit('backlog', tasks.slice(i, i + 10_000));
  await succeeded(tasks.length);
  await closed('backlog');
  expect(calls).toHaveLength(BATCHES);
  const { epoch } = await muster.leaderOf('backlog');
  expect(epoch).toBe(1); // one run: its history is all
  expect(actionsOf(await muster.historyOf('backlog'))).toBeLessThan(BATCHES * 0.2);
});

test('two wakes before the run has begun are two: what filled up meanwhile does not wait for what lingered [A12]', async () => {
  await submit('pairs', 'p-0');
  await submit('pairs', 'p-1');
  await muster.startNode(); // both signals come with its first workflow task
  await succeeded(2); // within 30 s, the linger being 60
  expect(calls.map(({ ids }) => ids)).toEqual([['p-0', 'p-1']]);
});

test('a dispatch that ends while a turn is held up is not waited for [A19]', async () => {
  await muster.startNode();
  let open = (): void => undefined;
  gate = new Promise((resolve) => (open = resolve));
  await submit('slow', 's-0');
  await eventually(() => calls.length === 1, { what: 'the call' });
  // The claims of this worker find no database for a while; all else goes on.
  muster.failing.name = 'lock-leader';
  const { workflowId } = await muster.leaderOf('slow');
  await (await muster.client.temporal()).workflow.getHandle(workflowId).signal('look');
  await eventually(() => muster.failing.times > 0, { what: 'a claim that fails' });
  open();
  await eventually(async () => countOf(await muster.historyOf('slow'), 'activityTaskCompletedEventAttributes') === 1, {
    what: 'the end of the dispatch, beside the turn',
  });
  // A heartbeat of its workflow task tells the run of it.
  const heartbeats = countOf(await muster.historyOf('slow'), 'workflowTaskCompletedEventAttributes');
  await eventually(
    async () => countOf(await muster.historyOf('slow'), 'workflowTaskCompletedEventAttributes') > heartbeats + 1,
    {
      timeoutMs: 60_000,
      what: 'two heartbeats of the workflow task',
    },
  );
  muster.failing.name = null;
  await closed('slow');
  expect((await muster.leaderOf('slow')).state).toBe(0);
});
