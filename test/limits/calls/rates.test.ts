import { mayStart } from '../../../activities/calls/attempt';
import { CallPaces } from '../../../activities/calls/pace';
import { defineHandler } from '../../../handlers';
import type { Handler } from '../../../handlers';
import type { CarriedBatch } from '../../../postgres/calls/batch';

/** Which rates a call of one process keeps to, right before it starts. */

const perHour = (limit: number) => ({ limit, perMs: 3_600_000, unit: 'calls' as const });
const define = (name: string, limit?: number): Handler =>
  defineHandler<{ to: string }>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 1 },
    submit: () => Promise.reject(new Error('nobody calls')),
    ...(limit === undefined ? {} : { rate: { ...perHour(limit), scope: 'handler' as const } }),
  });

let paces: CallPaces;
beforeEach(() => {
  paces = new CallPaces();
});
type Rates = NonNullable<CarriedBatch['ratesSet']>;
/** Whether a call may start now. `ratesSet`: what is in force in place of its definition. */
const starts = (handler: Handler, targetId: number, ratesSet: Rates | null = null): Promise<boolean> => {
  const batch = { targetId, n: 1, weight: 1, aheadMs: 0, ratesSet } as CarriedBatch;
  return mayStart({ paces, handler }, batch, () => true);
};
const sharing = (name: string, limit: number, own?: number): Rates => ({
  handler: own === undefined ? [] : [{ ...perHour(own), scope: 'handler' }],
  target: null,
  shared: { name, rates: [{ ...perHour(limit), scope: 'shared' }] },
});

test('the rate of a definition is kept over all targets of its handler, and of no other handler', async () => {
  const [orders, others, free] = [define('orders', 1), define('others', 1), define('free')];
  expect([await starts(orders, 1), await starts(orders, 2)]).toEqual([true, false]);
  expect([await starts(others, 1), await starts(others, 1)]).toEqual([true, false]);
  for (let n = 0; n < 3; n++) expect(await starts(free, 1)).toBe(true);
});

test('rates that were set take the place of those of the definition, of one target those per target', async () => {
  const orders = define('orders', 1);
  const handler = [
    { ...perHour(3), scope: 'handler' as const },
    { ...perHour(9), scope: 'target' as const },
  ];
  const set = { handler, target: null, shared: null };
  const ofOne = { handler, target: [{ ...perHour(1), scope: 'target' as const }], shared: null };
  expect([await starts(orders, 1, ofOne), await starts(orders, 1, ofOne)]).toEqual([true, false]);
  expect([await starts(orders, 2, set), await starts(orders, 2, set)]).toEqual([true, true]);
  expect(await starts(orders, 2, set)).toBe(false); // three of the handler
});

test('a rate that handlers share is kept over the calls of all of them, and of no other handler', async () => {
  const [left, right, alone] = [define('left'), define('right'), define('alone')];
  const key = sharing('key', 2);
  expect([await starts(left, 1, key), await starts(right, 2, key)]).toEqual([true, true]);
  expect([await starts(left, 3, key), await starts(right, 4, key)]).toEqual([false, false]);
  expect(await starts(alone, 5)).toBe(true);
  expect(await starts(alone, 5, sharing('another key', 1))).toBe(true);
});

test('a call that its own rate refuses takes nothing of what is shared', async () => {
  const [left, right] = [define('left'), define('right')];
  const slow = sharing('key', 2, 1);
  expect([await starts(left, 1, slow), await starts(left, 1, slow)]).toEqual([true, false]);
  expect([await starts(right, 2, sharing('key', 2)), await starts(right, 2, sharing('key', 2))]).toEqual([true, false]);
});
