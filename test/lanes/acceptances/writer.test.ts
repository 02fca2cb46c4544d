import type { Call } from '../../../activities/calls/call';
import { LaneHome } from '../../../activities/lanes/home';
import type { LaneWritten } from '../../../activities/lanes/writer';
import { acceptedWriter } from '../../../activities/lanes/writer';
import { eventually } from '../../helpers/eventually';
import { Downstream, items } from '../downstream';
import type { LaneStore } from '../laneStore';
import { openLaneStore } from '../laneStore';

/** Batches whose acceptances share a statement: what each lets go. */

let shop: LaneStore;
beforeAll(async () => {
  shop = await openLaneStore();
});
afterAll(() => shop.stop());

const submit = async (service: string, dependsOn: number[] = []): Promise<number> =>
  (await shop.client.submitBatch('edits', service, items(service), { dependsOn })).batch;
/** Batches with a call in progress. */
const called = async (...services: string[]): Promise<number[]> => {
  const ids: number[] = [];
  for (const service of services) ids.push(await submit(service));
  const { pool } = shop.database;
  await pool.query({
    text: `update batch set attempt = 1, started_at = clock(), attempt_until = clock() + interval '1 min'
      where id = any($1)`,
    values: [ids],
  });
  await pool.query({ text: 'update lane_batch set status = 3 where batch_id = any($1)', values: [ids] });
  return ids;
};
const accept = (ids: readonly number[], frees: readonly boolean[], attempt = 1): Promise<LaneWritten[]> => {
  const writer = acceptedWriter(shop.database.pool);
  // The first is written alone: the others come meanwhile, and share a statement.
  return Promise.all(
    ids.map((id, i) =>
      writer.write({ id, attempt, reference: `r-${id}`, every_ms: 1_000, deadline_ms: 60_000, frees: frees[i]! }),
    ),
  );
};
/** Of these lanes, those that are to be looked at. */
const ready = async (services: readonly string[]): Promise<string[]> => {
  const { rows } = await shop.database.pool.query<{ service: string }>({
    text: `select l.service from lane l join lane_state s on s.lane_id = l.id
      where s.ready and l.service = any($1) order by l.service`,
    values: [services],
  });
  return rows.map(({ service }) => service);
};
/** Waits for the rings of the submits, which no caller awaits; then nothing is to be looked at. */
const rest = async (services: readonly string[]): Promise<void> => {
  await eventually(async () => (await ready(services)).length === services.length);
  await shop.database.pool.query('update lane_state set ready = false');
};

test('what waits for a batch goes once a downstream that keeps dependencies has accepted it, not before', async () => {
  const ids = await called('first', 'keeps', 'does-not');
  const waiting = ['after-first', 'after-keeps', 'after-does-not'];
  for (const [i, service] of waiting.entries()) await submit(service, [ids[i]!]);
  await rest(waiting);
  const written = await accept(ids, [false, true, false]);
  expect(written.map((one) => one.written)).toEqual([true, true, true]);
  expect(await ready(waiting)).toEqual(['after-keeps']);
});

test('an acceptance that comes too late lets nothing go', async () => {
  const ids = await called('late-first', 'late');
  const waiting = ['after-late-first', 'after-late'];
  for (const [i, service] of waiting.entries()) await submit(service, [ids[i]!]);
  await rest(waiting);
  const written = await accept(ids, [true, true], 2);
  expect(written).toEqual(ids.map(() => ({ written: false, awaited: false, lanes: [] })));
  expect(await ready(waiting)).toEqual([]);
});

test.each([
  ['downstream', ['after-downstream']],
  ['held', []],
] as const)('an acceptance by a handler whose dependencies are %s lets go %j', async (dependencies, goes) => {
  const downstream = new Downstream();
  const handler = downstream.handler({
    lane: { dependencies },
    status: () => Promise.resolve([]),
    results: () => [],
  });
  const [id] = await called(dependencies);
  await submit(`after-${dependencies}`, [id!]);
  await rest([`after-${dependencies}`]);
  const call = { batch: { id }, attempt: 1, handler } as unknown as Call;
  const outcome = { kind: 'accepted', reference: `r-${id}` } as const;
  expect(await new LaneHome(shop.database.pool).share(call, outcome)).toMatchObject({ kind: 'accept', written: true });
  expect(await ready([`after-${dependencies}`])).toEqual(goes);
});
