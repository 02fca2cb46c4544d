import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';

interface Order {
  country: string;
  n: number;
}
const calls: { target: string; ids: string[] }[] = [];
const orders = defineHandler<Order>({
  name: 'orders',
  target: (order) => order.country,
  limits: { maxItems: 50 },
  linger: { lingerMs: 150 },
  submit: async (batch) => {
    calls.push({ target: batch.target, ids: batch.tasks.map((task) => task.id) });
    return {
      results: batch.tasks.map((task) => ({
        id: task.id,
        status: 'ok' as const,
        result: { double: task.payload.n * 2 },
      })),
    };
  },
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([orders]);
});
afterAll(() => muster.stop());
beforeEach(() => void calls.splice(0));

const done = (ids: readonly string[]): Promise<true> =>
  eventually(async () => {
    const { rows } = await muster.database.pool.query<{ n: number }>({
      text: 'select count(*) as n from task_state where id = any($1) and state = 4',
      values: [ids],
    });
    return rows[0]!.n === ids.length ? true : null;
  });

test('a full batch goes at once, the rest after its linger, members in order [A12 A15]', async () => {
  const ids = Array.from({ length: 51 }, (_, i) => `full-${i}`);
  await muster.client.submit(
    'orders',
    ids.map((id, n) => ({ id, payload: { country: 'se', n } })),
  );
  await done(ids);
  expect(calls.map((call) => call.ids.length)).toEqual([50, 1]);
  expect(calls.flatMap((call) => call.ids)).toEqual(ids);
});

test('the same id again is the same task, also after its batch has started [A1]', async () => {
  const task = { id: 'twice', payload: { country: 'no', n: 1 } };
  expect(await muster.client.submit('orders', task)).toMatchObject({ accepted: 1, repeated: 0 });
  await done(['twice']);
  expect(await muster.client.submit('orders', task)).toMatchObject({ accepted: 0, repeated: 1 });
  await expect(muster.client.submit('orders', { ...task, payload: { country: 'no', n: 2 } })).rejects.toThrow(
    /id "twice".*another payload/s,
  );
  expect(calls).toHaveLength(1);
});
