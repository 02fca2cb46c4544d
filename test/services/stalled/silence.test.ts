import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { defineHandler } from '../../../handlers';
import { SilentRuns } from '../../../workers/sweeper/silentRuns';
import { Sweeper } from '../../../workers/sweeper/sweeper';
import { executionWorkflowId } from '../../../workflows/naming';
import { eventually } from '../../helpers/eventually';
import type { OwnMuster } from '../../workflows/ownNode';
import { openOwn } from '../../workflows/ownNode';
import { Requests } from '../../../workflows/temporal/requests';

/**
 * Leaders, queuers and executions that take no turn, as none does where no worker is: the sweeper
 * wakes them less and less often. And a sweeper that does not know whether it may.
 *
 * @slow
 */

const common = {
  target: ({ to }: { to: string }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: () => Promise.resolve({ results: [] }),
};
const handlers = [
  defineHandler<{ to: string }>({ ...common, name: 'plain', leaders: 1 }),
  defineHandler<{ to: string }>({ ...common, name: 'laned', service: (to) => to }),
];
/** In seconds after the first. */
const WAKES = [0, 10, 30, 70, 130, 190];

let muster: OwnMuster;
let sweeper: Sweeper;
beforeAll(async () => {
  muster = await openOwn(handlers);
  sweeper = new Sweeper({
    pool: muster.database.pool,
    requests: new Requests(await muster.client.temporal()),
    prefix: muster.prefix,
    node: 'sweeper',
    leaseMs: 1, // so that whoever it wakes is silent past it again in the next round
    log: pino({ level: 'silent' }),
    everyMs: 50,
  });
});
afterAll(async () => {
  await sweeper.stop();
  await muster.stop();
});

test.each([
  ['leader', 'plain', 'expiredLeaders'],
  ['queuer', 'laned', 'queuerWakes'],
] as const)(
  'a %s that takes no turn is not woken with every round; one that has taken a turn is',
  async (table, handler, count) => {
    const { pool } = muster.database;
    await muster.client.submit(handler, { id: `${table}-1`, payload: { to: 'x' } });
    await pool.query(`update ${table} set expires_at = clock() - interval '1 s' where state = 1`);
    const begun = performance.now();
    sweeper.start();
    await eventually(() => sweeper.counts[count] > 0, { what: 'the first wake' });
    const { rounds } = sweeper.counts;
    await eventually(() => sweeper.counts.rounds > rounds + 3);
    const seconds = (performance.now() - begun) / 1_000;
    const wakes = sweeper.counts[count];
    expect(wakes).toBeLessThanOrEqual(WAKES.filter((at) => at <= seconds).length);
    await pool.query(`update ${table} set turn = turn + 1, state = 1, expires_at = clock() - interval '1 s'`);
    const again = sweeper.counts.rounds;
    await eventually(() => sweeper.counts.rounds > again + 1);
    expect(sweeper.counts[count]).toBeGreaterThan(wakes);
    await sweeper.stop();
  },
  240_000,
);

test('an execution is silent until it has taken a turn, however long it waits after that', async () => {
  const { pool } = muster.database;
  const { prefix } = muster;
  const requests = new Requests(await muster.client.temporal());
  const silent = new SilentRuns({ pool, requests, prefix, log: pino({ level: 'silent' }) });
  const id = randomUUID();
  await pool.query({
    text: `insert into execution (id, function_id, method, config, state, items, n_created, created_at)
      values ($1, 'f', 'm', '{}', 0 /* created */, 1, 1, clock())`,
    values: [id],
  });
  const realNow = performance.now.bind(performance);
  let passedMs = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => realNow() + passedMs);
  /** The sweeper finds the execution once, and looks after it from then on. */
  const roundsIn3s = async (found: readonly string[], delayMs = 0): Promise<string[]> => {
    await silent.noteExecutions(found, delayMs);
    passedMs += 3_000;
    await silent.noteExecutions([]);
    const runs = await silent.list();
    return runs.flatMap(({ type, workflowId }) => (type === 'execution' ? [workflowId] : []));
  };
  try {
    expect(await roundsIn3s([id])).toEqual([executionWorkflowId(prefix, id)]);
    await pool.query('update execution set turn = turn + 1');
    expect(await roundsIn3s([])).toEqual([]);
    // Its next run waits first, as all do that a process begins which has just started.
    expect(await roundsIn3s([id], 4_000)).toEqual([]);
    expect(await roundsIn3s([])).toEqual([executionWorkflowId(prefix, id)]);
  } finally {
    clock.mockRestore();
    await pool.query('delete from execution');
  }
});

test('without an answer about its lease a process sweeps nothing: another one may have it', async () => {
  const { pool } = muster.database;
  const { counts } = sweeper;
  const become = (what: 'rounds' | 'failures', more: number): Promise<true> => {
    const before = counts[what];
    return eventually(() => counts[what] >= before + more, { what: `${more} more ${what}` });
  };
  sweeper.start();
  await become('rounds', 1);
  await pool.query('alter table lease rename to lease_gone');
  try {
    await become('failures', 1); // perhaps of a round that had the lease
    const { rounds } = counts;
    await become('failures', 3);
    expect(counts.rounds).toBe(rounds);
  } finally {
    await pool.query('alter table lease_gone rename to lease');
  }
  await become('rounds', 1);
  await sweeper.stop();
});
