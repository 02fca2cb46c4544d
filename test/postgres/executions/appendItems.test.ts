import { storeExecution } from '../../../client/executions/execute';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** What storing a list reads, by the server's counts: as much per item, however many are equal. */

let database: TestDatabase;
beforeEach(async () => void (database = await createDatabase({ max: 2 })));
afterEach(() => database.drop());

const TEMPLATE = { functionId: 'f', method: 'm', config: {} };
const EQUAL = 2_000;

/** Entries of the index of contents that were read, once `items` rows are counted as inserted. */
const entriesRead = async (items: number): Promise<number> => {
  const { pool } = database;
  const counts = async () =>
    (
      await pool.query<{ inserted: number; read: number }>(`
select t.n_tup_ins::int as inserted, i.idx_tup_read::int as read
from pg_stat_user_tables t join pg_stat_user_indexes i using (relid)
where t.relname = 'work_item' and i.indexrelname = 'work_item_content'`)
    ).rows[0]!;
  return (await eventually(async () => ((await counts()).inserted >= items ? counts() : null))).read;
};

test('equal lists are numbered, over parts and beside others, without reading each other', async () => {
  const { pool } = database;
  const lists = Array.from({ length: EQUAL }, (_, i) => (i % 1_000 === 999 ? [`${i % 2_000}`] : []));
  await storeExecution(pool, TEMPLATE, lists, {});
  expect(await entriesRead(EQUAL)).toBeLessThan(EQUAL);
  const { id } = await storeExecution(
    pool,
    TEMPLATE,
    Array.from({ length: 10_500 }, () => []),
    {},
  );
  const { rows } = await pool.query<{ n: number; least: number; most: number; contents: number }>({
    text: `select count(distinct copy)::int as n, min(copy) as least, max(copy) as most,
        count(distinct content_id)::int as contents
      from work_item where execution_id = $1`,
    values: [id],
  });
  expect(rows).toEqual([{ n: 10_500, least: 1, most: 10_500, contents: 1 }]);
  const inOrder = await pool.query({
    text: 'select from work_item where execution_id = $1 and copy = position + 1',
    values: [id],
  });
  expect(inOrder.rowCount).toBe(10_500);
});
