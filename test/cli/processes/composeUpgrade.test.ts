import { rmSync } from 'node:fs';
import { compose } from '../../project/compose';
import type { Build } from '../builds';
import { CONTRACT, EXPAND, makeBuild } from '../builds';
import { RollingWorld, stopped } from './rollingWorld';

/**
 * What compose's profile `upgrade` runs, under load, judged as a rolling upgrade is.
 *
 * @alone @full
 */

/** The release after this one, and the one after that. */
let two: Build;
let three: Build;
let world: RollingWorld;
beforeAll(async () => {
  two = makeBuild({ '900001_made_up': EXPAND });
  three = makeBuild({ '900001_made_up': EXPAND, '900002_contract.needs_900001': CONTRACT });
  world = await RollingWorld.create();
});
afterAll(async () => {
  await world.close();
  for (const { folder } of [two, three]) rmSync(folder, { recursive: true });
});

/** Returns what compose runs, without what only a container has. */
const composed = (service: string): string[] =>
  compose.services[service]!.command!.filter((word) => word !== '--metrics-port' && word !== '9464');

test('compose, profile upgrade: the version before starts on the new tables and ends what it began; after a contraction it refuses', async () => {
  world.submitAllTheTime();
  const [previous, next] = [composed('worker-previous'), composed('worker')];
  const begun = await world.worker([...next, '--build-id', 'one']);
  await world.goesOn('at the start');
  world.watchGaps();

  expect((await world.run(composed('migrate'), two)).code).toBe(0);
  const newer = await world.worker([...next, '--build-id', 'two'], two);
  await newer.says(/this version is now the current one/);
  const beside = await world.worker([...previous, '--build-id', 'one']);
  await stopped(begun);
  await world.goesOn('of both versions');
  await world.judge();
  await stopped(beside);
  await stopped(newer);

  expect((await world.run(composed('migrate'), three)).code).toBe(0);
  expect((await world.run(['status'], two)).code).toBe(0);
  const refused = await world.run(['worker', '--start-timeout', '0ms']);
  expect(refused.code).toBe(3);
  expect(refused.stderr).toMatch(/newer than this program: it has 900002_contract.needs_900001, .*Use a newer Muster/);
});
