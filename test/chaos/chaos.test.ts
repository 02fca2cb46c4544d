import { rounds } from '../helpers/long';
import { POINTS } from './points';
import type { Outcome } from './judge/report';
import { runShort } from './shortForm';

/**
 * The short form of `npm run test:chaos`; `systems/chaos.test.ts` runs in `npm test`.
 *
 * @full
 */
const KILLS = POINTS.length + 1;
const TASKS = rounds(600, 1_500);

test('kills at every point lose, double, disorder and strand nothing [A19 G14]', async () => {
  const { code, outcome, table } = await runShort<Outcome>([
    '--tasks',
    String(TASKS),
    '--kills',
    String(KILLS),
    '--seed',
    '1',
  ]);
  if (code !== 0) throw new Error(table);
  expect(outcome).toMatchObject({
    passed: true,
    kills: KILLS,
    lost: 0,
    stuck: 0,
    failed: 0,
    duplicatedEffects: 0,
    inTwoBatches: 0,
    disordered: 0,
    needlessRepeats: 0,
    crashes: 0,
    drained: true,
  });
  for (const point of POINTS)
    expect({ point, kills: outcome!.killsOf[point] }).toEqual({ point, kills: expect.any(Number) });
  expect(outcome!.tasks).toBeGreaterThanOrEqual(TASKS);
  expect(outcome!.succeeded + outcome!.parked).toBe(outcome!.tasks);
}, 300_000);

test('says what is wrong with its arguments', async () => {
  const { code, table } = await runShort<Outcome>(['--tasks', 'many']);
  expect(code).toBe(2);
  expect(table).toContain("'--tasks <n>' argument 'many' is invalid. Expected a whole number of at least 1.");
});
