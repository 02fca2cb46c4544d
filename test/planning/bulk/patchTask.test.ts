import { z } from 'zod';
import { patchTask } from '../../../client/bulk/patchTask';
import { defineHandler } from '../../../handlers';

interface Order {
  to: string;
  sum: { cents: number };
  note?: string;
}

/** A schema that changes its input in place, where it is given a part of the payload as it is. */
const handler = defineHandler<Order>({
  name: 'orders',
  target: ({ to }) => to,
  weightOf: ({ sum }) => sum.cents,
  schema: z.object({
    to: z.string(),
    note: z.string().optional(),
    sum: z.any().transform((sum: Order['sum']) => {
      sum.cents *= 100;
      return sum;
    }),
  }),
  limits: { maxItems: 10 },
  linger: { lingerMs: 1 },
  submit: async () => ({ results: [] }),
});
const task = (weight: number | null) => ({
  ...{ seq: 1, id: 'a', target: 'se', version: null, key: null, weight, rowVersion: '' },
  payload: '{"to":"se","sum":{"cents":200}}',
});

test('what a schema changes in place beside the patch is seen', () => {
  expect(patchTask(handler, task(200), { note: 'n' })).toEqual({ refusal: 'unstable', detail: 'payload.sum.cents' });
});

test('a weight that the handler computed is computed again; one that was set by hand stays', () => {
  const patched = patchTask(handler, task(200), { sum: { cents: 3 } });
  expect(patched).toMatchObject({ payload: '{"to":"se","sum":{"cents":300}}', weight: 300 });
  expect(patchTask(handler, task(9), { sum: { cents: 3 } })).toMatchObject({ weight: 9 }); // set by hand
});
