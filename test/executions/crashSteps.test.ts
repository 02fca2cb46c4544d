import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import type { Breaking } from './breaking';
import { breakingPool } from './breaking';
import { exorciseGhosts, summonGhosts } from './ghosts';
import type { Fleet } from './helpers';
import { ended, lists, openFleet, Runs } from './helpers';

/**
 * Every statement of the dispatch fails as if its session were lost, before and after the server
 * has done it.
 *
 * @full
 */

const runs = new Runs();
const echo = { echo: runs.echo };
let fleet: Fleet;
beforeEach(() => void runs.all.splice(0));
const run: Fleet['run'] = (...args) => fleet.run(...args);

describe('a crash after each step of dispatch', () => {
  let breaking: Breaking;
  let close: () => Promise<void>;
  beforeAll(async () => {
    fleet = await openFleet(echo, { leaseMs: 1_000 });
    const made = breakingPool(fleet.database.url);
    ({ breaking } = made);
    const stops = [await fleet.node({}, { pool: made.pool }), await fleet.node({}, { pool: made.pool })];
    close = async () => {
      for (const stop of stops) await stop();
      await made.pool.end();
    };
  });
  afterAll(async () => {
    await close();
    await fleet.stop();
  });

  const STEPS = [
    ['open-chunks', 1],
    ['take-execution-turn', 1],
    ['insert-chunks', 1],
    ['fill-chunks', 1],
    ['ready-chunks', 1],
    ['commit', 1],
    ['publish-execution', 1],
    ['take-chunk', 1],
    ['reach-chunk', 1],
    ['reach-chunk', 5],
    // So often that the node gives it up and its lease passes.
    ['take-chunk', 5],
    ['read-given-items', 5],
    ['record-results', 3],
    ['close-chunk', 1],
    ['give-back-items', 1],
    ['read-execution', 5],
  ] as const;
  test.each(
    STEPS.flatMap(([name, times]) => (['before', 'after'] as const).map((when) => [when, name, times] as const)),
  )('%s %s, %i times: every item ends 100 or -2, run once where nothing was lost', async (when, name, times) => {
    // Chunks come back where one of its nodes took too much: closing and giving back are steps of
    // that.
    const returns = ['close-chunk', 'give-back-items'].includes(name);
    if (returns) await summonGhosts(fleet, 'ghost-1');
    Object.assign(breaking, { name, when, times, broke: 0 });
    const execution = await run('echo', lists(10), returns ? { numberOfNodes: 3 } : {});
    if (returns) await eventually(() => breaking.broke > 0, { what: `${name} to be reached` });
    if (returns) await exorciseGhosts(fleet);
    const view = await ended(execution, 20_000);
    await eventually(() => breaking.broke > 0, { what: `${name} to be reached` });
    breaking.name = null;
    expect(view).toMatchObject({ state: 'done', counts: { done: 10 } });
    for await (const item of execution.items()) expect(item).toMatchObject({ state: 'done', attempts: 1 });
    await expectWhole(fleet.client);
  });
});
