import { ackItems, reopenItems } from '../../postgres/fanouts/ack';
import { insertSegments, sealFanout } from '../../postgres/fanouts/fanout';
import { expectWhole } from '../helpers/whole';
import type { FanoutShop } from './shop';
import { openFanoutShop } from './shop';

/**
 * Locks are taken in one order whatever the order of a call: nothing deadlocks. Tested on
 * the statements themselves: the client sorts, and retries.
 */

let shop: FanoutShop;
beforeAll(async () => {
  shop = await openFanoutShop(24);
});
afterAll(() => shop.stop());

test('bulk acks over many segments and fan-outs in opposite orders, beside adds, reopens and a seal: no deadlock [D10]', async () => {
  for (let round = 0; round < 12; round++) {
    const fanouts = await Promise.all([1, 2, 3].map(() => shop.client.openFanout({ segmentSize: 4 })));
    for (const { id } of fanouts) await shop.client.addItems(id, 40);
    const places = fanouts.flatMap(({ id }) => Array.from({ length: 10 }, (_, segment) => ({ fanout: id, segment })));
    const acksOf = (index: number) => {
      const wants = places.map((place) => ({ ...place, indexes: [index] }));
      return ackItems(shop.pool, index % 2 === 0 ? wants : wants.reverse());
    };
    const reopened = places.slice(5, 25).map((place) => ({ ...place, indexes: [0, 1] }));
    const [last] = fanouts;
    const work: Promise<unknown>[] = [0, 1, 2, 3, 0, 1, 2, 3].map(acksOf);
    for (let i = 0; i < 6; i++) work.push(insertSegments(shop.pool, fanouts[1]!.id, 9, null));
    work.push(reopenItems(shop.pool, reopened), sealFanout(shop.pool, last!.id));
    const ends = await Promise.allSettled(work);
    // A reopen of what became complete meanwhile is refused (MU001); anything else would be a
    // deadlock or a bug.
    const failed = ends.filter(
      (end) => end.status === 'rejected' && (end.reason as { code?: string }).code !== 'MU001',
    );
    expect(failed).toEqual([]);
  }
  await expectWhole(shop.client);
});
