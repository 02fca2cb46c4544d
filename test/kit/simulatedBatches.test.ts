import fc from 'fast-check';
import { createDatabase } from '../helpers/database';
import type { TestDatabase } from '../helpers/database';
import { rounds } from '../helpers/long';
import { Clock } from '../postgres/ring-protocol/tools/clock';
import { Replay } from './replayed';
import { inOrder, scenario } from './scenario';
import { simulated } from './simulated';

/**
 * A simulated world is worth no more than its likeness: each scenario is played on the store, too.
 *
 * @slow
 */

/** The long form takes a second per scenario. */
const LONG_MS = 900_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ max: 10 });
});
afterAll(() => database.drop());

test(
  'a simulated world forms the batches of the real store at the same times, and its tasks end alike',
  async () => {
    const replay = new Replay(database, await Clock.create(database.pool));
    const seed = Number(process.env['MUSTER_TEST_SEED'] ?? 7);
    await fc.assert(
      fc.asyncProperty(scenario, async (one) => {
        expect(inOrder(await simulated(one))).toEqual(inOrder(await replay.play(one)));
      }),
      { seed, numRuns: rounds(12, 250), endOnFailure: true },
    );
  },
  LONG_MS,
);
