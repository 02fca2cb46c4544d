import { LANE_MARKING, returnUnsent } from '../../../activities/lanes/marking';
import { grantBatches } from '../../../postgres/lanes/grant';
import { lockQueuer } from '../../../postgres/lanes/queuerLock';
import { recoverBatches } from '../../../postgres/lanes/recovery';
import { insertSubmitter } from '../../../postgres/lanes/submitter';
import type { Pool } from '../../../postgres/pool';
import { inTransaction } from '../../../postgres/pool';
import { items } from '../downstream';
import type { LaneStore } from '../laneStore';
import { openLaneStore } from '../laneStore';

/**
 * Marks of calls that were not made, taken back after an outage that outlasted the submitter's
 * lease: its lane has the batch back by then, as one that may have been sent.
 */

const NODE = 'n-1';

let store: LaneStore;
let pool: Pool;
beforeAll(async () => {
  store = await openLaneStore();
  pool = store.database.pool;
});
afterAll(() => store.stop());

/** A batch that was granted and marked, by the submitter that is returned. */
const marked = async (service: string): Promise<{ id: number; attempt: number; dispatch: number }> => {
  const { batch: id } = await store.client.submitBatch('edits', service, items(service));
  const submitter = await inTransaction(pool, async (tx) => {
    await lockQueuer(tx, 0);
    const no = await insertSubmitter(tx, 0, 0, 1, 60_000);
    await tx.query({
      text: `update lane_state set pending = pending + 1, ready = false
        where lane_id = (select lane_id from lane_batch where batch_id = $1)`,
      values: [id],
    });
    await grantBatches(tx, [{ id, from: 0, submitter: no, startInMs: 0 }]);
    return no;
  });
  const marks = [{ id, attempt: 0, submitter, timeoutMs: 60_000 }];
  expect(await LANE_MARKING.mark(pool, marks, NODE)).toEqual(new Set([id]));
  return { id, attempt: 1, dispatch: submitter };
};
const stateOf = async (id: number): Promise<object> => {
  const { rows } = await pool.query<object>({
    text: `select s.status, b.attempt, b.attempt_until is not null as marked, s.not_before is not null as held,
        l.ready, l.pending
      from batch b join lane_batch s on s.batch_id = b.id join lane_state l on l.lane_id = s.lane_id where b.id = $1`,
    values: [id],
  });
  return rows[0]!;
};
const UNKNOWN = { status: 2, attempt: 1, marked: true, held: true, ready: true, pending: 0 };
const UNSUBMITTED = { status: 0, attempt: 1, marked: false, held: false, ready: true, pending: 0 };

test('its lane has it back as unsubmitted', async () => {
  const unused = await marked('back');
  await recoverBatches(pool, [unused.dispatch]);
  expect(await stateOf(unused.id)).toEqual(UNKNOWN);
  await LANE_MARKING.unmark(pool, [unused], NODE);
  expect(await stateOf(unused.id)).toEqual(UNSUBMITTED);
});

test('an earlier attempt that may have been sent leaves it unknown, to be looked up at once', async () => {
  const unused = await marked('unsure');
  await pool.query({ text: 'update batch set unsure = true where id = $1', values: [unused.id] });
  await recoverBatches(pool, [unused.dispatch]);
  await LANE_MARKING.unmark(pool, [unused], NODE);
  expect(await stateOf(unused.id)).toEqual({ ...UNSUBMITTED, status: 2 });
});

test.each<[string, (unused: { id: number; attempt: number; dispatch: number }) => Promise<unknown>]>([
  ['of another node', (unused) => LANE_MARKING.unmark(pool, [unused], 'n-2')],
  ['of another attempt', (unused) => LANE_MARKING.unmark(pool, [{ ...unused, attempt: 2 }], NODE)],
  [
    'of a batch that another submitter looks up',
    async (unused) => {
      await pool.query({ text: 'update batch set dispatch = 99 where id = $1', values: [unused.id] });
      await LANE_MARKING.unmark(pool, [unused], NODE);
    },
  ],
  // Whose own mark of that number was not written: this one is of a call.
  ['of a submitter before', (unused) => LANE_MARKING.unmark(pool, [{ ...unused, dispatch: 99 }], NODE)],
])('a mark %s stays', async (what, unmark) => {
  const unused = await marked(what);
  await recoverBatches(pool, [unused.dispatch]);
  await unmark(unused);
  expect(await stateOf(unused.id)).toEqual(UNKNOWN);
});

test.each([
  ['recovered meanwhile', true],
  ['returned before its answer was lost', false],
])('a batch that is returned through an outage, and was %s, is unsubmitted', async (service, recovers) => {
  const { id, attempt, dispatch } = await marked(service);
  let tries = 0;
  const ask = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  const query = async (...args: unknown[]): Promise<unknown> => {
    if (++tries > 1) return ask(...args);
    if (recovers) await recoverBatches(pool, [dispatch]);
    else await ask(...args);
    throw Object.assign(new Error('away'), { code: '57P03' });
  };
  const away = Object.assign(Object.create(pool) as Pool, { query });
  const one = { id, submitter: dispatch, unused: attempt };
  expect(await returnUnsent({ pool: away, node: NODE }, one, new AbortController().signal)).toBe(true);
  expect(await stateOf(id)).toEqual(UNSUBMITTED);
});

test('a batch that its lane took back while the process was stopped is unsubmitted, too', async () => {
  const { id, attempt, dispatch } = await marked('stopped');
  await recoverBatches(pool, [dispatch]);
  const one = { id, submitter: dispatch, unused: attempt };
  expect(await returnUnsent({ pool, node: NODE }, one, new AbortController().signal)).toBe(true);
  expect(await stateOf(id)).toEqual(UNSUBMITTED);
});

test('a batch that another submitter holds is not returned', async () => {
  const { id, attempt, dispatch } = await marked('not held');
  await recoverBatches(pool, [dispatch]);
  for (const one of [
    { id, submitter: dispatch + 1_000, unused: attempt },
    { id, submitter: dispatch, unused: null },
  ])
    expect(await returnUnsent({ pool, node: NODE }, one, new AbortController().signal)).toBe(false);
  expect(await stateOf(id)).toEqual(UNKNOWN);
});
