import { setTimeout as sleep } from 'node:timers/promises';
import type { Breaking } from '../breaking';
import { breakingPool } from '../breaking';
import { expectWhole } from '../../helpers/whole';
import type { Fleet } from '../helpers';
import { ended, lists, openFleet, Runs } from '../helpers';

/**
 * Postgres refuses results of a chunk, for another reason than an outage: the chunk ends there.
 *
 * @slow
 */

/** Items that do not end by themselves before the test does. */
const FOREVER_MS = 600_000;
const runs = new Runs();
let breaking: Breaking;
let close: () => Promise<void>;
let fleet: Fleet;
let hangs = false;
let interrupted = 0;
beforeAll(async () => {
  fleet = await openFleet(
    {
      work: async (args, call) => {
        runs.note(args, call);
        if (hangs && call.position === 0)
          await sleep(FOREVER_MS, undefined, { signal: call.signal }).catch(() => interrupted++);
        else await sleep(10);
        return args.join(' ');
      },
    },
    { leaseMs: 1_000 },
  );
  const made = breakingPool(fleet.database.url);
  ({ breaking } = made);
  const stop = await fleet.node({}, { pool: made.pool });
  close = async () => {
    await stop();
    await made.pool.end();
    await fleet.stop();
  };
});
beforeEach(() => {
  runs.all.splice(0);
  Object.assign(breaking, { name: 'record-results', when: 'before', times: 1, code: '22P05', broke: 0 });
});
afterAll(() => close());

test('after a write that is refused a chunk begins no further item, and another chunk runs what is left', async () => {
  const ITEMS = 400;
  const execution = await fleet.run('work', lists(ITEMS), { concurrency: 2 });
  expect(await ended(execution, 60_000)).toMatchObject({ state: 'done', counts: { done: ITEMS } });
  expect(breaking.broke).toBe(1);
  // Twice ran only what had run, or had begun, when the write was refused.
  expect(runs.all.length).toBeLessThan(ITEMS + 100);
  expect(runs.of(ITEMS - 1)).toBe(1);
  await expectWhole(fleet.client);
});

test('an item that runs when a write is refused is interrupted, and holds up no other round', async () => {
  hangs = true;
  const execution = await fleet.run('work', lists(20), { concurrency: 2 });
  while (interrupted === 0) await sleep(20);
  hangs = false;
  expect(await ended(execution, 60_000)).toMatchObject({ state: 'done', counts: { done: 20 } });
  await expectWhole(fleet.client);
});
