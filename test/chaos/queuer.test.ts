import { NOTHING } from './queuer/nothing';
import type { LaneOutcome } from './queuer/report';
import { rounds } from '../helpers/long';
import { planKills } from './plan';
import { LANE_POINTS } from './points';
import { runShort } from './shortForm';

/**
 * The queuer under kills, in short; the long form: `npm run test:chaos -- --scenario
 * queuer`. `systems/chaos.test.ts` has lanes and runs in `npm test`.
 *
 * @full
 */
/**
 * Of this seed the first kill is a stop right before a send: a frozen submitter that thaws past its
 * expiry. The two after it kill around a grant and around a call's effect; the next, in the long
 * form, restart Temporal and the downstream.
 */
const SEED = 123;
const KILLS = rounds(3, 5);
/** Then stops: half of them in a grant, half right before a call. */
const STOPS = rounds(4, 20);
const BATCHES = rounds(120, 400);

test('kills at any point invert, lose and double nothing; what was frozen before its send is not sent when it thaws [C1 C10 C17 C28 C29]', async () => {
  const args = [
    '--scenario',
    'queuer',
    '--batches',
    `${BATCHES}`,
    '--lanes',
    `${rounds(12, 20)}`,
    '--kills',
    `${KILLS}`,
    '--stops',
    `${STOPS}`,
    '--seed',
    `${SEED}`,
  ];
  const { code, outcome, table } = await runShort<LaneOutcome>(args);
  if (code !== 0) throw new Error(table);
  expect(outcome).toMatchObject({ passed: true, ...NOTHING, crashes: 0, drained: true, verified: 'ok' });
  expect(outcome!.kills).toBe(KILLS + STOPS);
  expect(outcome!.committed).toBeGreaterThanOrEqual(BATCHES);
  expect(outcome!.stops).toBeGreaterThan(0);
  expect(outcome!.frozen).toBeGreaterThan(0);
}, 900_000);

test('the plan of the short form freezes somebody right before a send', () => {
  const plan = planKills(KILLS, SEED, LANE_POINTS);
  expect(plan).toContainEqual(expect.objectContaining({ point: 'before-send', how: 'stop' }));
});
