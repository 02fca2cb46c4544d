import { lockEnds } from '../../../postgres/bulk/ended';
import { delayQueued, setNotBefore } from '../../../postgres/bulk/waiting';
import { inTransaction } from '../../../postgres/pool';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** What bulk actions lock and change of tasks that ended or wait. */

let rows: Rows;
let place: Place;
beforeAll(async () => {
  rows = await Rows.open();
  place = await rows.place('jobs');
});
afterAll(() => rows.close());

const FAILED = 5;
const DEAD = 6;
const ended = async (batchId: number, state = FAILED): Promise<{ seq: number; batchId: number }> => {
  const seq = await rows.task(place);
  await rows.insert('outcome', {
    seq,
    target_id: place.targetId,
    state,
    attempts: 1,
    batch_id: batchId,
    at: at(0),
  });
  return { seq, batchId };
};

test('an end that another redrive is taking is skipped, not waited for', async () => {
  const [first, second] = [await ended(7), await ended(7)];
  const taking = await rows.pool.connect();
  try {
    await taking.query('begin');
    expect(await lockEnds(taking, [first], FAILED)).toEqual([first.seq]);
    const others = inTransaction(rows.pool, (client) => lockEnds(client, [first, second], FAILED));
    expect(await rows.whether(others)).toBe('ends');
    expect(await others).toEqual([second.seq]);
  } finally {
    await taking.query('rollback');
    taking.release();
  }
});

test('only the end with which a task was found is locked: of that state, in that batch', async () => {
  const [found, dead, again] = [await ended(7), await ended(7, DEAD), await ended(8)];
  const asked = [again, dead, found].map(({ seq }) => ({ seq, batchId: 7 }));
  const locked = await inTransaction(rows.pool, (client) => lockEnds(client, asked, FAILED));
  expect(locked).toEqual([found.seq]);
});

/** Whole seconds, so that no fraction is rounded. */
const LATER_MS = Date.UTC(2100, 0, 1);
const SOON_MS = Date.UTC(2090, 0, 1);
const waiting = async (table: 'delayed' | 'held' | 'queue'): Promise<number> => {
  const seq = await rows.task(place);
  const whereItIs = { seq, target_id: place.targetId };
  if (table === 'held') await rows.insert('held', { ...whereItIs, not_before: new Date(SOON_MS) });
  else if (table === 'queue') await rows.insert('queue', { ...whereItIs, ready_at: at(0), bytes: 1 });
  else await rows.insert('delayed', { ...whereItIs, not_before: new Date(SOON_MS), bytes: 1 });
  return seq;
};
/** When those that are delayed or held may go. */
const timesOf = async (...seqs: number[]): Promise<(number | null)[]> => {
  const found = await rows.query<{ seq: number; ms: number | null }>(
    `select x.seq, (extract(epoch from x.not_before) * 1000)::float8 as ms
     from (select seq, not_before from delayed union all select seq, not_before from held) x
     where x.seq = any($1::bigint[]) order by x.seq`,
    [seqs],
  );
  expect(found.map(({ seq }) => seq)).toEqual(seqs);
  return found.map(({ ms }) => ms);
};

test('a time that is set counts to the second for delayed and for held tasks, and for no others', async () => {
  const seqs = [await waiting('delayed'), await waiting('held'), await waiting('delayed'), await waiting('held')];
  await inTransaction(rows.pool, (client) => setNotBefore(client, seqs.slice(0, 2), LATER_MS));
  expect(await timesOf(...seqs)).toEqual([LATER_MS, LATER_MS, SOON_MS, SOON_MS]);
});

test('only a held task may go at once', async () => {
  const seqs = [await waiting('delayed'), await waiting('held')];
  await inTransaction(rows.pool, (client) => setNotBefore(client, seqs, null));
  expect(await timesOf(...seqs)).toEqual([SOON_MS, null]);
});

test('a queued task that is put off waits for that time, and is queued no more', async () => {
  const [moved, stays] = [await waiting('queue'), await waiting('queue')];
  await inTransaction(rows.pool, (client) => delayQueued(client, [moved], LATER_MS));
  expect(await timesOf(moved)).toEqual([LATER_MS]);
  expect(await rows.query('select seq from queue order by seq')).toEqual([{ seq: stays }]);
});
