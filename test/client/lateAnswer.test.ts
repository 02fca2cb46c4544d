import { inTransaction } from '../../postgres/pool';
import { finishBatch, insertOutcomes, lockAttempt, settleSucceeded } from '../../postgres/calls/settle';
import { freeKeys } from '../../postgres/grouping/busyKey';
import { TASK_STATES } from '../../workflows/planning/states';
import { eventually } from '../helpers/eventually';
import type { Shop } from './shop';
import { broken, cut, items, openShop } from './shop';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.stop());

/**
 * The answer to a parked batch's own attempt, come late: all ok, or the first member refused and
 * the rest ok. True: it was written.
 */
const answerLate = async (batch: number, ids: string[], plain: boolean): Promise<boolean> => {
  if (plain) return (await settleSucceeded(shop.pool, [{ id: batch, attempt: 1, counts: false }], [], [])).has(batch);
  return inTransaction(shop.pool, async (tx) => {
    const guard = await lockAttempt(tx, batch, 1);
    if (guard === null) return false;
    const { rows } = await tx.query<{ seq: number }>({ text: 'select seq from task where id = $1', values: [ids[0]] });
    await insertOutcomes(tx, batch, [{ seq: rows[0]!.seq, state: TASK_STATES.failed, attempts: 1, error: 'late no' }]);
    await freeKeys(tx, [batch]);
    await finishBatch(tx, batch, TASK_STATES.succeeded, false, 1, null);
    return true;
  });
};

const waiting = async (n: number): Promise<void> => {
  await eventually(
    async () => {
      const { rowCount } = await shop.pool.query({
        text: `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      });
      return rowCount === n;
    },
    { everyMs: 5, what: `${n} to wait for the batch` },
  );
};

const NAMES = ['answer', 'resolve', 'redrive'] as const;
const cases = NAMES.flatMap((first) =>
  [true, false].flatMap((plain) => [true, false].map((whole) => ({ first, plain, whole }))),
);
test.each(cases)(
  '$first comes before the two others (plain answer: $plain, verdict on the whole: $whole) [H3 A19]',
  async ({ first, plain, whole }) => {
    const ids = ['a', 'b', 'c'].map((name) => `${first}-${plain}-${whole}-${name}`);
    await shop.client.submit('items', items('se', ...ids));
    const batch = await cut(shop.pool, ids, { state: TASK_STATES.unknown, attempt: 1 });
    const what = whole ? { batch } : { tasks: ids.slice(0, 2) };
    const racers = {
      answer: () => answerLate(batch, ids, plain),
      resolve: () =>
        shop.client.resolve(what, { as: 'failed' }).then(
          () => true,
          (error: { code?: string }) => error.code !== 'NOT_UNKNOWN' && Promise.reject(error as Error),
        ),
      redrive: async () => (await shop.client.redrive('items', { only: 'unknown', ids })).redriven > 0,
    };
    // All three wait for the batch, in a known order, and each looked at it before.
    const holder = await shop.pool.connect();
    await holder.query('begin');
    await holder.query(`select from batch where id = ${batch} for update`);
    const order = [first, ...NAMES.filter((one) => one !== first)];
    const racing: Promise<boolean>[] = [];
    for (const one of order) {
      racing.push(racers[one]());
      await waiting(racing.length);
    }
    await holder.query('commit');
    holder.release();
    const results = await Promise.all(racing);
    const won = order.filter((_, i) => results[i]);
    const states = (await shop.client.getTasks(ids)).map((task) => task.state);
    // A verdict on two of the tasks leaves the third to the redrive, and to nobody else.
    expect(won).toEqual(first === 'resolve' && !whole ? ['resolve', 'redrive'] : [first]);
    expect(states).toEqual(
      first === 'redrive'
        ? ['created', 'created', 'created']
        : first === 'resolve'
          ? ['failed', 'failed', whole ? 'failed' : 'created']
          : [plain ? 'succeeded' : 'failed', 'succeeded', 'succeeded'],
    );
    await shop.client.cancel(ids);
    expect(await broken(shop.client)).toEqual({});
  },
);
