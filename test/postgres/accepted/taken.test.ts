import { cancelAccepted } from '../../../postgres/accepted/cancellation';
import { takeCompletion } from '../../../postgres/accepted/completion';
import { claimReads } from '../../../postgres/accepted/readClaims';
import { inTransaction } from '../../../postgres/pool';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** Of two that want an accepted batch, one gets it, and the other is told. */

let rows: Rows;
let place: Place;
beforeAll(async () => {
  rows = await Rows.open();
  place = await rows.place('jobs', { handler: { cancels: true } });
});
afterAll(() => rows.close());

const LEASE_MS = 60_000;
const accepted = (columns: Record<string, unknown> = {}): Promise<number> =>
  rows.batch(place, { attempt: 1, started_at: at(-1_000), reference: 'job', poll_at: at(0), ...columns });
const attemptOf = async (id: number): Promise<number> =>
  (await rows.query<{ attempt: number }>('select attempt from batch where id = $1', [id]))[0]!.attempt;
const cancellationsOf = (id: number): Promise<object[]> =>
  rows.query('select why, state, reference from cancellation where batch_id = $1', [id]);

test('a cancellation waits for the settlement that has the batch, and finds it ended', async () => {
  const id = await accepted();
  const settling = await rows.pool.connect();
  try {
    await settling.query('begin');
    await settling.query('update batch set state = 4, poll_at = null, finished_at = clock() where id = $1', [id]);
    const cancelled = inTransaction(rows.pool, (client) => cancelAccepted(client, id));
    expect(await rows.whether(cancelled)).toBe('waits');
    await settling.query('commit');
    expect(await cancelled).toMatchObject({ state: 4, accepted: false, cancellation: null });
  } finally {
    await settling.query('rollback');
    settling.release();
  }
  expect(await cancellationsOf(id)).toEqual([]);
});

test('a cancellation of what the downstream has is requested once; of a batch that is not there, null', async () => {
  const id = await accepted();
  const cancel = (batch: number) => inTransaction(rows.pool, (client) => cancelAccepted(client, batch));
  for (let again = 0; again < 2; again++)
    expect(await cancel(id)).toMatchObject({ handler: 'jobs', state: 1, accepted: true, cancellation: 0 });
  expect(await cancellationsOf(id)).toEqual([{ why: 0, state: 0, reference: 'job' }]);
  expect(await cancel(id + 1_000)).toBeNull();
});

test('of two readers of a report one takes the batch, and the other gets null', async () => {
  const id = await accepted();
  expect(await takeCompletion(rows.pool, id, 1, LEASE_MS)).toBe(2);
  expect(await takeCompletion(rows.pool, id, 1, LEASE_MS)).toBeNull();
  expect(await attemptOf(id)).toBe(2);
});

test.each([
  ['has ended', { state: 4, poll_at: null, finished_at: at(0) }],
  ['is in a call', { attempt_until: at(LEASE_MS) }],
  ['was refused', { refused: true }],
  ['waits to be sent', { reference: null, poll_at: null }],
])('no report is read for a batch that %s', async (_, columns) => {
  const id = await accepted(columns);
  expect(await takeCompletion(rows.pool, id, 1, LEASE_MS)).toBeNull();
  expect(await attemptOf(id)).toBe(1);
});

test.each([
  ['of an outcome that is unknown', { state: 3, reference: null, poll_at: null }, false],
  ['that may have been sent', { reference: null, unsure: true }, false],
  ['that was accepted', {}, true],
])('a report is read for a batch %s', async (_, columns, isPolled) => {
  const id = await accepted(columns);
  expect(await takeCompletion(rows.pool, id, 1, LEASE_MS)).toBe(2);
  const [row] = await rows.query<{ later: boolean | null }>(
    `select poll_at > clock() + interval '30 s' as later from batch where id = $1`,
    [id],
  );
  expect(row!.later).toBe(isPolled ? true : null);
});

test('of several batches each is claimed under its own attempt', async () => {
  const [one, two] = [await accepted({ attempt: 2 }), await accepted({ attempt: 3 })];
  const swapped = [
    { id: one, attempt: 3 },
    { id: two, attempt: 2 },
  ];
  expect(await claimReads(rows.pool, swapped, LEASE_MS)).toEqual(new Map());
  const claims = [
    { id: one, attempt: 2 },
    { id: two, attempt: 2 },
  ];
  expect(await claimReads(rows.pool, claims, LEASE_MS)).toEqual(new Map([[one, 3]]));
  expect([await attemptOf(one), await attemptOf(two)]).toEqual([3, 3]);
});

test('what has ended, or has no reference, is not claimed', async () => {
  const ids = [
    await accepted({ state: 4, poll_at: null, finished_at: at(0) }),
    await accepted({ reference: null, poll_at: null }),
    await accepted({ state: 3, poll_at: null }),
  ];
  const claimed = await claimReads(
    rows.pool,
    ids.map((id) => ({ id, attempt: 1 })),
    LEASE_MS,
  );
  expect(claimed).toEqual(new Map([[ids[2]!, 2]]));
});
