import fc from 'fast-check';
import { FanoutStateError } from '../../client';
import { rounds } from '../helpers/long';
import { expectWhole } from '../helpers/whole';
import type { FanoutShop } from './shop';
import { openFanoutShop } from './shop';

/**
 * Any interleaving of add, ack, double ack, reopen and seal from many connections ends with exactly
 * one completion iff the fan-out is sealed and all is acked (D1-D5, D11). Real transactions, side
 * by side; what happens between them is Postgres's own.
 */

type Step =
  { do: 'add'; n: number } | { do: 'ack'; from: number; n: number } | { do: 'reopen'; from: number } | { do: 'seal' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), n: fc.integer({ min: 1, max: 9 }) }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('ack' as const), from: fc.nat(60), n: fc.integer({ min: 1, max: 30 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const), from: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('seal' as const) }) },
);
const scripts = fc.array(fc.array(step, { minLength: 1, maxLength: 10 }), { minLength: 2, maxLength: 6 });

let shop: FanoutShop;
beforeAll(async () => {
  shop = await openFanoutShop();
});
afterAll(() => shop.stop());

/** What the calls of one fan-out came to. */
class Run {
  readonly ids: string[] = [];
  completions = 0;
  sealed = false;
  constructor(readonly fanout: string) {}

  async script(steps: readonly Step[]): Promise<void> {
    for (const one of steps) await this.take(one);
  }

  async take(one: Step): Promise<void> {
    const { client } = shop;
    switch (one.do) {
      case 'add':
        try {
          this.ids.push(...(await client.addItems(this.fanout, one.n)));
        } catch (error) {
          if (!(error instanceof FanoutStateError)) throw error;
        }
        return;
      case 'ack': {
        const ids = this.ids.slice(one.from % (this.ids.length + 1)).slice(0, one.n);
        if (ids.length === 0) return;
        const { completed } = await client.ackItems(ids, { idsPerCall: 7 });
        this.completions += completed.length; // not before the await: others count meanwhile
        return;
      }
      case 'reopen': {
        const id = this.ids[one.from % (this.ids.length + 1)];
        // Refused once it is complete; what matters is that it never undoes a completion.
        if (id !== undefined)
          await client.reopenItems(id).catch((error: { code?: string }) => {
            if (error.code !== 'INVALID_ITEM') throw error;
          });
        return;
      }
      case 'seal':
        if ((await client.sealFanout(this.fanout)).completed !== null) this.completions++;
        this.sealed = true;
    }
  }
}

test('any interleaving: one completion and one event iff sealed and all acked [D3 G8]', async () => {
  let completed = 0;
  let open = 0;
  const property = fc.asyncProperty(
    scripts,
    fc.integer({ min: 1, max: 8 }),
    fc.boolean(),
    async (given, segmentSize, finish) => {
      const run = new Run((await shop.client.openFanout({ segmentSize, notify: { workflowId: 'nobody' } })).id);
      await Promise.all(given.map((steps) => run.script(steps)));
      if (finish)
        await Promise.all([
          run.take({ do: 'seal' }),
          run.take({ do: 'ack', from: 0, n: 1_000 }),
          run.take({ do: 'ack', from: 0, n: 1_000 }),
        ]);
      const found = (await shop.client.getFanout(run.fanout))!;
      const isDone = run.sealed && found.open === 0;
      if (finish) expect(isDone).toBe(true);
      const { rows } = await shop.pool.query<{ n: number }>(
        `select count(*)::int as n from notification n join fanout f on f.id = n.fanout_id where f.public_id = $1`,
        [run.fanout],
      );
      expect({ state: found.state, items: found.items, completions: run.completions, events: rows[0]!.n }).toEqual({
        state: isDone ? 'complete' : run.sealed ? 'sealed' : 'open',
        items: run.ids.length,
        completions: isDone ? 1 : 0,
        events: isDone ? 1 : 0,
      });
      if (isDone) completed++;
      else open++;
    },
  );
  await fc.assert(property, { numRuns: rounds(50, 120) });
  expect(Math.min(completed, open)).toBeGreaterThan(5);
  await expectWhole(shop.client);
});
