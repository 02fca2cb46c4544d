import { fencingScenes } from './fencing';
import { commitScenes } from './commits';
import { keyScenes } from './tools/keys';
import { ringScenes } from './scenes';
import { successionScenes } from './succession';
import { Theatre } from './scene';

/** @full */

/**
 * Build 3: every precaution of the ring protocol and of its fencing against an order of statements
 * that needs it: with all of them the checker finds nothing and every task ends; with this one left
 * out it finds what it is there for.
 */
let theatre: Theatre;
beforeAll(async () => {
  theatre = await Theatre.open();
});
afterAll(() => theatre.close());

describe.each([
  ['commits', commitScenes],
  ['ring protocol', ringScenes],
  ['distinct keys', keyScenes],
  ['fencing', fencingScenes],
  ['succession', successionScenes],
])('%s', (_, scenes) => {
  test.each(scenes.map((scene) => [scene.name, scene] as const))('%s [A19]', async (_name, scene) => {
    expect(await theatre.play(scene, false)).toEqual([]);
    const found = await theatre.play(scene, true);
    expect(found.map(({ kind }) => kind)).toContain(scene.catches);
  });
});
