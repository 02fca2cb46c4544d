import { exitCodeOf } from '../../../client/cli/support/exitCodes';
import { ERROR_CODES } from '../../../workflows/planning/errorCodes';
import type { World } from '../world';
import { createWorld } from '../world';

/**
 * What a file or a handler brings that cannot be accepted as it is, at the door of the command
 * line: named, and nothing is stored.
 */

const CONFIG = `
import { defineHandler } from 'temporal-muster';
import { z } from 'zod';
const common = { target: () => 't', limits: { maxItems: 10 }, submit: async () => ({ results: [] }) };
export default [
  defineHandler({ ...common, name: 'plain' }),
  defineHandler({ ...common, name: 'late', schema: z.object({ n: z.number() }).refine(async () => true) }),
];
`;
let world: World;
beforeAll(async () => {
  world = await createWorld();
  world.write('muster.config.ts', CONFIG);
});
afterAll(() => world.close());

test('a number that loses digits, and a schema that answers later', async () => {
  const lossy = await world.run('submit plain --file -', '{"id":"lossy","payload":{"n":9007199254740993}}\n');
  expect(lossy.code).toBe(2);
  expect(lossy.stdout + lossy.stderr).toMatch(/line 1 \(id "lossy"\), payload\.n: .*9007199254740993/);
  const late = await world.run('submit late --file -', '{"id":"late","payload":{"n":1}}\n');
  expect(late.code).toBe(2);
  expect(late.stderr).toMatch(/schema of handler "late" has an asynchronous .*Make it synchronous/);
  expect(late.stderr).not.toMatch(/\n\s+at /);
  expect((await world.database.pool.query('select from task')).rowCount).toBe(0);
});

/** Named among the refused input, but accepted once other work has ended. */
const LATER = ['LANE_BUSY', 'TARGET_BUSY'];

test('each code of refused input ends a command with exit code 2', () => {
  const codes = Object.keys(ERROR_CODES);
  const refused = codes.slice(0, codes.indexOf('BACKLOGGED'));
  expect(refused.filter((code) => exitCodeOf({ code }) !== 2)).toEqual(LATER);
  expect(codes.slice(refused.length).filter((code) => exitCodeOf({ code }) === 2)).toEqual([]);
});

test('a number that loses digits is refused by resolve and by lane fix, by field', async () => {
  world.write('items.ndjson', '\n{"id":"c","payload":{"n":9007199254740993}}\n');
  for (const [args, message] of [
    [`resolve --task a --as succeeded --result '{"n":9007199254740993}'`, /--result, n: .* got 9007199254740993/],
    ['resolve --task a --as succeeded --result 9007199254740993', /--result: .* got 9007199254740993/],
    ['lane fix po --file items.ndjson', /items\.ndjson, line 2, payload\.n: .* got 9007199254740993/],
  ] as const) {
    const { code, stderr } = await world.run(args);
    expect([args, code, stderr]).toEqual([args, 2, expect.stringMatching(message)]);
  }
});
