import { indexCityHandler } from '../../examples/demo/handler';
import { cityTasks } from '../../examples/demo/cities';
import { createDatabase, type TestDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { Examples, getJson } from './helpers';
import { present, startWith, untilEnded } from './throughMuster';

/** @slow */

/** The demo's downstream through Muster, at its worst: every other call is answered 429. */
const examples = new Examples();
let index: TestDatabase;
let muster: TestMuster;
let url: string;

beforeAll(async () => {
  index = await createDatabase({ empty: true });
  const flags = ['--database-url', index.url, '--busy-rate', '0.5', '--seed', '3'];
  ({ url } = await examples.start('demo/downstream', flags));
  muster = await startWith([indexCityHandler({ url })]);
});
afterAll(async () => {
  await muster.stop();
  await examples.stopAll();
  await index.drop();
});

test('after back pressure everything is indexed once, and leaders rest: a hold that is over makes nothing due [H5]', async () => {
  await muster.client.submit('index-city', [...cityTasks(600)]);
  const { succeeded = 0, failed = 0, ...others } = present(await untilEnded(muster, 600));
  expect([succeeded + failed, others]).toEqual([600, {}]);
  const stats = await getJson<{ refused: number; rows: number; duplicateEffects: number }>(`${url}/stats`);
  expect(stats).toMatchObject({ rows: succeeded, duplicateEffects: 0 });
  expect(stats.refused).toBeGreaterThan(0);
  const restless = async () => {
    const { rows } = await muster.database.pool.query<{ key: string }>({
      text: `select t.key from target t join leader l on l.id = t.leader_id where l.state <> 0 or t.due_at is not null`,
    });
    return rows.map(({ key }) => key);
  };
  await eventually(async () => (await restless()).length === 0, {
    what: async () => `leaders to rest; still at work for ${(await restless()).join(', ')}`,
  });
});
