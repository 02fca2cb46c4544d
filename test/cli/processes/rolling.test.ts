import { rmSync } from 'node:fs';
import type { Build } from '../builds';
import { EXPAND, makeBuild } from '../builds';
import { RollingWorld, stopped } from './rollingWorld';

/**
 * A rolling upgrade and a rollback under load, of this build and of one with a migration more.
 * Judged by what the downstream itself saw: every task once, each lane in its order, and at no time
 * nothing at all.
 *
 * @alone
 *
 * @slow
 */

/** The release after this one. */
let two: Build;
let world: RollingWorld;
beforeAll(async () => {
  two = makeBuild({ '900001_made_up': EXPAND });
  world = await RollingWorld.create();
});
afterAll(async () => {
  await world.close();
  rmSync(two.folder, { recursive: true });
});

test('rolling upgrade and rollback of two builds under load: 0 lost, 0 doubled, 0 out of order, and it always goes on', async () => {
  const before = await world.schema();
  world.submitAllTheTime();
  let current = await world.worker(['worker']);
  await world.goesOn('at the start');
  world.watchGaps();

  expect((await world.run(['migrate', '--json'], two)).json()).toMatchObject({ ran: ['900001_made_up'] });
  await world.goesOn('of the old build on the new tables');
  const newer = await world.worker(['worker'], two);
  await stopped(current);
  await world.goesOn('of the new build');

  const migrated = await world.run(['migrate', '--json']);
  expect([migrated.code, migrated.json()]).toMatchObject([0, { ran: [] }]);
  current = await world.worker(['worker']);
  await current.says(/the tables are of a newer version \(900001_made_up\), which this program supports/);
  await stopped(newer);
  await world.goesOn('after the rollback');

  expect((await world.run(['migrate', 'down', '--json'], two)).json()).toMatchObject({ undone: ['900001_made_up'] });
  expect(await world.schema()).toBe(before);
  await world.goesOn('after the migration was undone');
  await world.judge();
  await stopped(current);
});
