import type { Handler, HandlerOptions } from '../../handlers';
import { defineHandler } from '../../handlers';
import { leaderWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import { lookSignal } from '../../workflows/definitions';
import type { NodeOptions } from '../../workers/nodeOptions';
import type { TestMuster } from '../helpers/muster';

/**
 * Every path of the workflows that a stored history must cover (`record.ts` records them,
 * `replay.test.ts` replays them).
 */
export interface Scenario {
  name: string;
  handler: Partial<HandlerOptions<Payload>>;
  executions?: NodeOptions['executions'];
  run: (muster: TestMuster) => Promise<unknown>;
  /** The task queue, after the prefix, whose runs are kept; default: Muster's own. */
  queue?: string;
}
interface Payload {
  n: number;
}

const task = (n: number, more: object = {}): { id: string; payload: Payload } => ({
  id: `t-${n}`,
  payload: { n },
  ...more,
});
const tasks = (count: number): { id: string; payload: Payload }[] => Array.from({ length: count }, (_, n) => task(n));
const done = (muster: TestMuster, count: number): Promise<unknown> =>
  muster.client.waitFor(
    tasks(count).map(({ id }) => id),
    { timeoutMs: 60_000 },
  );
const submitAndWait =
  (count: number) =>
  async (muster: TestMuster): Promise<unknown> => {
    await muster.client.submit('recorded', tasks(count));
    return done(muster, count);
  };
const tried = new Set<string>();
const once = (id: string): boolean => !tried.has(id) && tried.add(id) !== undefined;

/** What happens in place of the first statement of this name. */
const onFirst = (
  muster: TestMuster,
  name: string,
  instead: (run: () => Promise<unknown>) => Promise<unknown>,
): void => {
  const { pool } = muster.database;
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  pool.query = ((...args: unknown[]) => {
    if ((args[0] as { name?: string }).name !== name) return query(...args);
    pool.query = query as typeof pool.query;
    return instead(() => query(...args));
  }) as typeof pool.query;
};

export const scenarios: Scenario[] = [
  { name: 'linger-flush', handler: {}, run: submitAndWait(3) },
  {
    name: 'worker-stopping',
    handler: {},
    run: (muster) => {
      const { deps } = muster.node;
      const { draining } = deps;
      let turns = 0;
      const get = (): AbortSignal => (turns++ === 0 ? AbortSignal.abort() : draining);
      Object.defineProperty(deps, 'draining', { get });
      return submitAndWait(3)(muster);
    },
  },
  { name: 'size-flush', handler: { limits: { maxItems: 4 } }, run: submitAndWait(8) },
  {
    name: 'retry',
    handler: {
      submit: async (batch) => ({
        results: batch.tasks.map((one, index) => ({
          index,
          status: once(`${batch.handler}${one.id}`) ? ('retry' as const) : ('ok' as const),
        })),
      }),
      retry: { delayed: { baseMs: 100, maxMs: 100 } },
    },
    run: submitAndWait(3),
  },
  {
    name: 'bisect',
    handler: {
      submit: async (batch) =>
        batch.tasks.some(({ id }) => id === 't-2')
          ? { status: 'rejected' as const, error: 'poison' }
          : { results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) },
    },
    run: submitAndWait(4),
  },
  {
    name: 'woken-while-waiting',
    handler: { linger: { lingerMs: 60_000 } },
    run: async (muster) => {
      await muster.client.submit('recorded', task(0));
      await muster.client.flush('recorded');
      return done(muster, 1);
    },
  },
  {
    name: 'back-pressure',
    handler: {
      submit: async (batch) =>
        once(`later${batch.id}`)
          ? { status: 'later' as const, retryAfterMs: 2_500 }
          : { results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) },
    },
    run: submitAndWait(2),
  },
  {
    name: 'cancel-and-idle',
    handler: { linger: { lingerMs: 500 } },
    run: async (muster) => {
      await muster.client.submit('recorded', task(0));
      await muster.client.cancel('t-0');
    },
  },
  {
    name: 'pause-resume',
    handler: { linger: { lingerMs: 300 } },
    run: async (muster) => {
      await muster.client.submit('recorded', task(0));
      await muster.client.pause('recorded');
      await muster.client.resume('recorded');
      return done(muster, 1);
    },
  },
  {
    name: 'continue-as-new',
    handler: { target: ({ n }) => String(n), linger: { lingerMs: 400 }, leaders: 1 },
    run: async (muster) => {
      const { rows } = await muster.database.pool.query<{ id: number }>({
        text: `with h as (select id from handler where name = 'recorded') insert into leader (handler_id, name) select id, '0' from h returning id`,
      });
      const leaderId = rows[0]!.id;
      await (
        await muster.client.temporal()
      ).workflow.signalWithStart('leader', {
        workflowId: leaderWorkflowId(muster.prefix, 'recorded', '0', leaderId),
        taskQueue: workflowTaskQueue(muster.prefix),
        args: [{ leaderId, handler: 'recorded', name: '0', dueInMs: 700, turnsPerRun: 2 }],
        signal: lookSignal,
        signalArgs: [],
      });
      // One target after the other comes due while the leader still waits for the last: it never
      // runs out of work before it continues as new.
      for (let n = 0; n < 8; n++) {
        await muster.client.submit('recorded', task(n));
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      await done(muster, 8);
    },
  },
  {
    // Its process dies: no sign of life for the heartbeat's timeout, then the next turn adopts the
    // batch and sends it again.
    name: 'dispatch-lost',
    handler: {},
    run: async (muster) => {
      let end: (error: Error) => void = () => undefined;
      onFirst(muster, 'read-dispatch', () => new Promise((_, reject) => (end = reject)));
      await muster.client.submit('recorded', tasks(2));
      await done(muster, 2);
      end(new Error('the process is gone'));
    },
  },
  {
    name: 'dispatch-failed',
    handler: {},
    run: (muster) => {
      onFirst(muster, 'read-dispatch', () => Promise.reject(new Error('the session was lost')));
      return submitAndWait(2)(muster);
    },
  },
  {
    // The dispatch has published the leader idle, and before it can say so the next task rings.
    name: 'step-down-race',
    handler: { linger: { lingerMs: 0 } },
    run: async (muster) => {
      const raced = new Promise((resolve) => {
        onFirst(muster, 'release-leader', async (release) => {
          const released = await release();
          resolve(await muster.client.submit('recorded', task(1)));
          return released;
        });
      });
      await muster.client.submit('recorded', task(0));
      await raced;
      return done(muster, 2);
    },
  },
  {
    name: 'callback',
    handler: {},
    run: async (muster) => {
      await muster.client.submit('recorded', task(0, { callback: { workflowId: 'nobody' } }) as never);
      return done(muster, 1);
    },
  },
  {
    name: 'accepted-and-polled',
    handler: {
      submit: async () => ({ status: 'accepted' as const, reference: 'r-1' }),
      status: async (references) =>
        references.map((reference) => ({
          reference,
          status: once(`poll${reference}`) ? ('pending' as const) : ('done' as const),
        })),
      results: () => [{ id: 't-0', status: 'ok' as const }],
      poll: { everyMs: 1_000 },
    },
    run: submitAndWait(1),
  },
];

export const handlerOf = (scenario: Scenario): Handler =>
  defineHandler<Payload>({
    name: 'recorded',
    target: () => 'one',
    limits: { maxItems: 100 },
    linger: { lingerMs: 200 },
    submit: async (batch) => ({ results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) }),
    ...scenario.handler,
  });
