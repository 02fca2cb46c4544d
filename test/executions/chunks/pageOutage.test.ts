import { setTimeout as sleep } from 'node:timers/promises';
import type { Breaking } from '../breaking';
import { breakingPool } from '../breaking';
import { expectWhole } from '../../helpers/whole';
import type { Fleet } from '../helpers';
import { ended, lists, openFleet, Runs } from '../helpers';

/**
 * Postgres goes away while a node is in the middle of a chunk: what it has begun runs on.
 *
 * @slow
 */

/** More than a node reads at once. */
const ITEMS = 700;
const FIRST_LONG = 480;
const runs = new Runs();
let breaking: Breaking;
let fleet: Fleet;

test('a page of a chunk that cannot be read at first costs no item a second run', async () => {
  fleet = await openFleet(
    {
      work: async (args, call) => {
        runs.note(args, call);
        if (call.position === 0) Object.assign(breaking, { name: 'read-given-items', when: 'before', times: 6 });
        // As long as the lease of a chunk that nobody renews, and longer.
        if (call.position >= FIRST_LONG && call.position < 500) await sleep(2_500);
        return args.join(' ');
      },
    },
    { leaseMs: 1_000 },
  );
  const made = breakingPool(fleet.database.url);
  ({ breaking } = made);
  const stop = await fleet.node({}, { pool: made.pool });
  const execution = await fleet.run('work', lists(ITEMS), { concurrency: 50 });
  expect(await ended(execution, 60_000)).toMatchObject({ state: 'done', counts: { done: ITEMS } });
  expect(breaking.broke).toBe(6);
  expect(runs.all).toHaveLength(ITEMS);
  for await (const item of execution.items()) expect(item).toMatchObject({ state: 'done', attempts: 1 });
  await expectWhole(fleet.client);
  await stop();
  await made.pool.end();
  await fleet.stop();
});
