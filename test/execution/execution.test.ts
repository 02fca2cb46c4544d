import type { Fleet } from './helpers';
import { ended, openFleet, Runs } from './helpers';

/** E1, E2, E4, E6, E9-E11, E13 end to end: a registered function, real nodes on the real servers. */
describe('executions', () => {
  let fleet: Fleet;
  const runs = new Runs();
  beforeAll(async () => {
    fleet = await openFleet({
      echo: (args, call) => {
        runs.note(args, call);
        return args.join(' ');
      },
      fails: () => ({ exitCode: 3, stderr: 'no' }),
    });
    for (let i = 0; i < 4; i++) await fleet.node();
  });
  afterAll(() => fleet.stop());

  test('E1 E2 E4: 20 items x 4 arguments on 4 nodes: 4 orders of 5, their union is the input, nothing twice', async () => {
    const input = Array.from({ length: 20 }, (_, i) => [`a${i}`, `b${i}`, `c${i}`, `d${i}`]);
    const execution = await fleet.client.execute(
      { functionId: 'echo', method: 'run', config: { numberOfNodes: 4 } },
      input,
    );
    expect(execution.id).toMatch(/^[0-9a-f]{8}-/);
    const view = await ended(execution);
    expect(view).toMatchObject({ state: 'done', items: 20, counts: { done: 20 }, message: null });
    const chunks = (await execution.chunks()).toReversed();
    expect(chunks.map(({ items }) => items)).toEqual([5, 5, 5, 5]);
    expect(new Set(chunks.map(({ node }) => node)).size).toBe(4);
    const items = [];
    for await (const item of execution.items()) items.push(item);
    expect(items.map((item) => item.arguments)).toEqual(input);
    expect(items.map((item) => item.stdout)).toEqual(input.map((args) => args.join(' ')));
    const places = new Map([...new Set(items.slice(0, 4).map(({ chunk }) => chunk))].map((chunk, i) => [chunk, i]));
    expect(items.every(({ chunk, position }) => places.get(chunk) === position % 4)).toBe(true);
    expect(runs.all.map(({ position }) => position).sort((a, b) => a - b)).toEqual(input.map((_, i) => i));
  });
});
