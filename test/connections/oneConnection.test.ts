import { useEverySystem } from './everySystem';

/**
 * A pool of one connection must not wait for itself, in whatever a worker or a client does.
 *
 * @slow
 */

test('a worker of one connection, and a client of one, do what all five systems do', async () => {
  expect(await useEverySystem({ max: 1 })).toEqual([]);
});
