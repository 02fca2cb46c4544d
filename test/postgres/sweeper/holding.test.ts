import { readHolding } from '../../../postgres/sweeper/unanswered';
import { at, Rows } from '../rows/rows';

/** Workflows that may wait for an activity without end, of which a look names so many. */

let rows: Rows;
beforeEach(async () => {
  rows = await Rows.open();
});
afterEach(() => rows.close());

/** A leader of the handler with dispatches that gave their last sign of life so long ago. */
const leader = async (handlerId: number, name: string, ...silentS: number[]): Promise<string> => {
  const row = await rows.insert('leader', { handler_id: handlerId, name, state: 1, expires_at: at(60_000) });
  for (const [no, s] of silentS.entries()) {
    const dispatch = { leader_id: row.id, no, handler_id: handlerId, slots: 1, started_at: at(-s * 1_000) };
    await rows.insert('dispatch', { ...dispatch, seen_at: at(-s * 1_000) });
  }
  return name;
};

test('many leaders of one handler hide no other, and the longest silent come first', async () => {
  const [many, few] = [await rows.place('many'), await rows.place('few')];
  await leader(many.handlerId, 'third', 20);
  await leader(many.handlerId, 'first', 400, 30);
  await leader(many.handlerId, 'second', 300);
  await leader(many.handlerId, 'lives', 1);
  await leader(few.handlerId, 'is late', 3);
  await leader(few.handlerId, 'alone', 20, 1);
  const found = (await readHolding(rows.pool, 2)).filter(({ kind }) => kind === 'leader');
  expect(found.map(({ handler, name }) => `${handler} ${name}`).sort()).toEqual([
    'few alone',
    'many first',
    'many second',
  ]);
});
