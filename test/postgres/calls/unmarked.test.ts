import { unmarkAttempts } from '../../../postgres/calls/mark';
import { batches } from '../../../postgres/invariants/batches';
import { Rows } from '../rows/rows';

/** Marks that are taken back, of which it is not known whether they were written. */

let rows: Rows;
beforeAll(async () => {
  rows = await Rows.open();
});
afterAll(() => rows.close());

test('the number of a mark that was never written is spent, and no invariant is broken by that', async () => {
  const place = await rows.place('jobs');
  const id = await rows.batch(place, { dispatch: 7 });
  await unmarkAttempts(rows.pool, [{ id, attempt: 1, dispatch: 7 }], 'node');
  const query = 'select attempt, attempt_until, started_at is not null as "isStarted" from batch where id = $1';
  expect(await rows.query(query, [id])).toEqual([{ attempt: 1, attempt_until: null, isStarted: true }]);
  const { text } = batches.find(({ name }) => name === 'attempts are at least those that count')!;
  expect(await rows.query(text)).toEqual([]);
});
