import { simulate } from 'temporal-muster/testing';
import { ledger } from './ledger';

const edit = (id: string, price: number, order = 'po-17') => ({ id, payload: { order, price } });

test('an edit whose outcome is unknown halts its order, and no other', async () => {
  let isAway = true;
  const world = simulate(
    ledger(async (order) => {
      if (isAway && order === 'po-17') throw new Error('connection reset');
    }),
  );
  await world.submitBatch('po-17', [edit('a', 10)]);
  await world.submitBatch('po-17', [edit('b', 20)]);
  await world.submitBatch('po-18', [edit('c', 30, 'po-18')]);
  expect(world.lanes.get('po-17')).toMatchObject({
    state: 'halted',
    reason: expect.stringContaining('connection reset'),
    batches: [{ status: 'parked' }, { status: 'unsubmitted' }],
  });
  expect(world.task('c')).toMatchObject({ state: 'succeeded' });
  isAway = false;
  await world.lanes.fix('po-17', { as: 'applied' });
  expect(world.calls.map(({ service, tasks }) => [service, tasks[0]!.id])).toEqual([
    ['po-17', 'a'],
    ['po-18', 'c'],
    ['po-17', 'b'],
  ]);
});
