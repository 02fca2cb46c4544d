import { ledgerHandler } from '../../examples/ledger/handler';
import type { OrderEdit } from '../../examples/ledger/handler';
import type { Prices } from '../../examples/ledger/edits';
import { reachesStatus } from '../helpers/reachesStatus';
import { expectWhole } from '../helpers/whole';
import { Examples, getJson } from './helpers';
import { startWith } from './throughMuster';

/** The ledger, which applies what it has pending in any order, through the whole of Muster. */
const examples = new Examples();
afterAll(() => examples.stopAll());

const PRICES = [2.75, 3, 3.25];
const SERVICES = ['po-1', 'po-2', 'po-3', 'po-4', 'po-5', 'po-6'];

test.each(['serial', 'parallel'] as const)(
  '%s: of prices 2.75, 3.00 and 3.25 that were submitted one after the other the last one stands [C16]',
  async (approach) => {
    const ledger = await examples.start('ledger/ledger', ['--commit-ms', '100', '--jitter', '1']);
    const muster = await startWith([ledgerHandler({ url: ledger.url, approach })]);
    try {
      const { client } = muster;
      const batches: number[] = [];
      for (const set of PRICES)
        for (const service of SERVICES) {
          const payload: OrderEdit = { service, edit: { id: `${service} at ${set}`, key: 'price', set } };
          const { batch } = await client.submitBatch('ledger', service, [{ id: payload.edit.id, payload }]);
          batches.push(batch);
        }
      for (const batch of batches) await reachesStatus(client, batch, 'committed');
      const state = await getJson<Record<string, Prices>>(`${ledger.url}/state`);
      expect(state).toEqual(Object.fromEntries(SERVICES.map((service) => [service, { price: 3.25 }])));
      for (const [i, service] of SERVICES.entries()) {
        const order = await getJson<{ key: string }[]>(`${ledger.url}/order?service=${service}`);
        const submitted = PRICES.map((_, round) => String(batches[round * SERVICES.length + i]));
        expect(order.map(({ key }) => key.split('-').at(-2))).toEqual(submitted);
      }
      await expectWhole(client);
    } finally {
      await muster.stop();
    }
  },
);
