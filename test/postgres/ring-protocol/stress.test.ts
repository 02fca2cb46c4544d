import { createDatabase } from '../../helpers/database';
import { stress } from './stress';
import { Clock } from './tools/clock';
import { World } from './world';

/** The short form; the long one: `npm run test:protocol -- --seconds 400 --seed 1`. */
test('the ring protocol at random: nothing lost, stuck, overdue, or in two batches [A19 A13]', async () => {
  const seed = Math.floor(Math.random() * 1e9);
  const database = await createDatabase({ max: 10 });
  try {
    const report = await stress(database, seed, 12);
    process.stderr.write(`ring protocol: ${JSON.stringify({ ...report, findings: undefined, trace: undefined })}\n`);
    expect({ seed, findings: report.findings }).toEqual({ seed, findings: [] });
    expect(report.done['submit']).toBeGreaterThan(0);
  } finally {
    await database.drop();
  }
});

test('the world of the test rests only when no statement is under way, whoever waits for it', async () => {
  const database = await createDatabase({ max: 10 });
  const world = await World.open(database, await Clock.create(database.pool), []);
  try {
    let isOver = false;
    void world.dispatches.query('select pg_sleep(0.3)').then(() => (isOver = true));
    await world.rest();
    expect(isOver).toBe(true);
  } finally {
    await world.close();
    await database.drop();
  }
});
