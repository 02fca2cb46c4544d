import type { Client } from '../../../client';
import { makeBulkStep } from '../../../client/bulk/step';
import { TASK_STATES } from '../../../workflows/planning/states';
import { eventually } from '../../helpers/eventually';
import type { Shop } from '../shop';
import { broken, cut, endAlone, items, openShop, statesOf } from '../shop';
import { afterChoice, made, makeSteps } from './made';

/** Bulk actions beside others who change the same tasks, and beside themselves. @slow */

let shop: Shop;
let client: Client;
beforeEach(async () => {
  shop = await openShop();
  ({ client } = shop);
});
afterEach(async () => {
  jest.restoreAllMocks();
  const found = await broken(client);
  await shop.stop();
  expect(found).toEqual({});
});

/** Counts, and leaves the first step of work to be made. */
const counted = async (input: Parameters<Client['bulk']['start']>[0]): Promise<string> => {
  const { id } = await client.bulk.start(input);
  await makeBulkStep(client);
  expect(await client.bulk.get(id)).toMatchObject({ state: 'working', done: 0 });
  return id;
};

test('a task that was redriven and failed again between choice and change is left as it is', async () => {
  await client.submit('items', items('se', 'a', 'b', 'c', 'd'));
  await cut(shop.pool, ['a', 'b'], { state: 5, error: 'no' });
  await cut(shop.pool, ['c', 'd'], { state: 4 });
  await endAlone(shop.pool, 'c', TASK_STATES.failed, 'no');
  const id = await counted({ handler: 'items', where: { state: 'failed' }, action: { do: 'redrive' } });
  afterChoice(async () => {
    await client.redrive('items', { only: 'failed', ids: ['a', 'c'] });
    await cut(shop.pool, ['a', 'c'], { state: 5, error: 'again' });
  });
  await makeSteps(client);
  expect(await client.bulk.get(id)).toMatchObject({ state: 'done', total: 3, done: 1, skipped: 2, failed: 0 });
  expect(await statesOf(client, 'a', 'b', 'c')).toEqual(['a failed 1', 'b created 0', 'c failed 1']);
});

test('an end beside others that is another one by now is left as it is', async () => {
  await client.submit('items', items('se', 'a', 'b', 'c'));
  await cut(shop.pool, ['a', 'b', 'c'], { state: 4 });
  await endAlone(shop.pool, 'a', TASK_STATES.dead, 'no');
  const id = await counted({ handler: 'items', where: { state: 'dead' }, action: { do: 'redrive' } });
  afterChoice(async () => {
    await client.redrive('items', { only: 'dead', ids: ['a'] });
    await client.submit('items', items('se', 'x'));
    await cut(shop.pool, ['a', 'x'], { state: 4 });
    await endAlone(shop.pool, 'a', TASK_STATES.dead, 'again');
  });
  await makeSteps(client);
  expect(await client.bulk.get(id)).toMatchObject({ state: 'done', done: 0, skipped: 1 });
  expect(await statesOf(client, 'a')).toEqual(['a dead 1']);
});

test('ends beside others that another redrive is taking are left to it, without a wait', async () => {
  await client.submit('items', items('se', 'a', 'b', 'c'));
  await cut(shop.pool, ['a', 'b', 'c'], { state: 4 });
  for (const end of ['a', 'b']) await endAlone(shop.pool, end, TASK_STATES.dead, 'no');
  const id = await counted({ handler: 'items', where: { state: 'dead' }, action: { do: 'redrive' } });
  const other = await shop.pool.connect();
  await other.query('begin');
  await other.query(`select from outcome where seq = (select seq from task where id = 'a') for update`);
  let isMade = false;
  const making = makeSteps(client).then(() => (isMade = true));
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  const isHeldUp = await eventually(async () => isMade || (await shop.pool.query(waiting)).rowCount === 1).then(
    () => !isMade,
  );
  await other.query('rollback');
  other.release();
  await making;
  expect(isHeldUp).toBe(false);
  expect(await client.bulk.get(id)).toMatchObject({ state: 'done', total: 2, done: 1, skipped: 1 });
  expect(await statesOf(client, 'a', 'b')).toEqual(['a dead 1', 'b created 0']);
});

test('tasks that were claimed, resolved or delayed between choice and change are skipped', async () => {
  await client.submit('items', items('se', 'a', 'b'));
  const cancel = await counted({ handler: 'items', action: { do: 'cancel' } });
  afterChoice(() => cut(shop.pool, ['a']));
  await makeSteps(client);
  expect(await client.bulk.get(cancel)).toMatchObject({ done: 1, skipped: 1 });
  expect(await statesOf(client, 'a', 'b')).toEqual(['a batched 0', 'b cancelled 0']);
  jest.restoreAllMocks();
  await client.submit('items', items('no', 'c', 'd'));
  await cut(shop.pool, ['c', 'd'], { state: 3 });
  const resolve = await counted({ handler: 'items', action: { do: 'resolve', as: 'failed' } });
  afterChoice(() => client.tasks.resolve(['c'], { as: 'succeeded' }));
  await makeSteps(client);
  expect(await client.bulk.get(resolve)).toMatchObject({ done: 1, skipped: 1 });
  expect(await statesOf(client, 'c', 'd')).toEqual(['c succeeded 1', 'd failed 1']);
  jest.restoreAllMocks();
  await client.submit('items', items('fi', 'e', 'f'));
  const update = await counted({ handler: 'items', action: { do: 'update', priority: 4 } });
  afterChoice(() => cut(shop.pool, ['e']));
  await makeSteps(client);
  expect(await client.bulk.get(update)).toMatchObject({ done: 1, skipped: 1 });
  expect((await client.getTasks(['e', 'f'])).map(({ priority }) => priority)).toEqual([0, 4]);
  await shop.pool.query('delete from member; delete from batch where state = 1; delete from dispatch');
  await shop.pool.query(`delete from task where id in ('a', 'e')`);
  await shop.pool.query('update leader set state = 0, expires_at = null, wake_at = null');
});

test('what was accepted, failed or parked after the start is not touched, so that none is redriven twice', async () => {
  await client.submit('items', items('se', 'a', 'b', 'p'));
  await cut(shop.pool, ['a', 'b'], { state: 5 });
  await cut(shop.pool, ['p'], { state: 3 });
  const failed = await client.bulk.start({ handler: 'items', where: { state: 'failed' }, action: { do: 'redrive' } });
  const parked = await client.bulk.start({ handler: 'items', where: { state: 'unknown' }, action: { do: 'redrive' } });
  const waiting = await client.bulk.start({ handler: 'items', action: { do: 'cancel' } });
  await client.submit('items', items('se', 'z'));
  await cut(shop.pool, ['z'], { state: 5 });
  await client.submit('items', items('se', 'y'));
  await client.redrive('items', { only: 'unknown' });
  await cut(shop.pool, ['p'], { state: 3 }); // a new batch, further on in the order of the list
  await makeSteps(client);
  expect(await client.bulk.get(failed.id)).toMatchObject({ state: 'done', total: 2, done: 2 });
  expect(await client.bulk.get(parked.id)).toMatchObject({ state: 'done', total: 0, done: 0 });
  const { done } = (await client.bulk.get(waiting.id))!;
  expect(done).toBeLessThanOrEqual(2); // a and b, if they were redriven before it came to them
  expect(await statesOf(client, 'y', 'z', 'p')).toEqual(['y created 0', 'z failed 1', 'p unknown 1']);
});

test('what was sent at the start and fails later is not touched, and neither is a retry that waits since', async () => {
  await client.submit('items', items('se', 'a', 'b', 'c'));
  await cut(shop.pool, ['a', 'b'], { state: 4 }); // its settlement is still to come
  const failed = await client.bulk.start({ handler: 'items', where: { state: 'failed' }, action: { do: 'redrive' } });
  await endAlone(shop.pool, 'a', TASK_STATES.failed, 'no');
  const sooner = await client.bulk.start({ handler: 'items', action: { do: 'update', notBefore: null } });
  await shop.pool.query(`
with gone as (delete from queue returning *)
insert into delayed (target_id, priority, seq, not_before, bytes, attempts, weight, key, error, failed_at)
select target_id, priority, seq, clock() + interval '1 hour', bytes, 1, weight, key, 'HTTP 503', clock()
from gone`);
  await makeSteps(client);
  expect(await client.bulk.get(failed.id)).toMatchObject({ state: 'done', total: 0, done: 0 });
  expect(await client.bulk.get(sooner.id)).toMatchObject({ state: 'done', total: 0, done: 0 });
  expect(await statesOf(client, 'a', 'c')).toEqual(['a failed 1', 'c created 1']);
  // Waited for since before the start it is sent at once.
  expect(await made(client, { handler: 'items', action: { do: 'update', notBefore: null } })).toMatchObject({
    done: 1,
  });
});

test('after stop has answered nothing more is changed, although the step was chosen before', async () => {
  await client.submit('items', items('se', 'a'));
  const id = await counted({ handler: 'items', action: { do: 'cancel' } });
  afterChoice(() => client.bulk.stop(id));
  await makeSteps(client);
  expect(await client.bulk.get(id)).toMatchObject({
    state: 'stopped',
    done: 0,
    finishedAt: expect.any(String) as string,
  });
  expect(await statesOf(client, 'a')).toEqual(['a created 0']);
  expect(await client.bulk.stop(id)).toMatchObject({ state: 'stopped' });
  const [entry] = await client.audit.list({ subject: `bulk action ${id}` });
  expect(entry).toMatchObject({ verb: 'stop', outcome: 'done' });
});

test('two processes make each step once', async () => {
  const ids = Array.from({ length: 2_000 }, (_, i) => `t${i}`);
  await client.submit('items', items('se', ...ids));
  await cut(shop.pool, ids.slice(0, 1_000), { state: 5 });
  await cut(shop.pool, ids.slice(1_000), { state: 6 });
  await shop.pool.query(`
create table moved (seq bigint primary key);
create function note_move() returns trigger language plpgsql as $$
begin insert into moved values (new.seq); return null; end $$;
create trigger note_move after insert on queue for each row execute function note_move()`);
  const redrive = (state: 'failed' | 'dead') =>
    client.bulk.start({ handler: 'items', where: { state }, action: { do: 'redrive' } });
  const both = [await redrive('failed'), await redrive('dead')];
  await Promise.all([makeSteps(client), makeSteps(client), makeSteps(client)]);
  for (const { id } of both)
    expect(await client.bulk.get(id)).toMatchObject({ state: 'done', done: 1_000, skipped: 0 });
  expect((await shop.pool.query('select from moved')).rowCount).toBe(2_000);
  await shop.pool.query('drop trigger note_move on queue; drop function note_move(); drop table moved');
});

test('a step that fails says why and is tried again later, while others go on', async () => {
  await client.submit('items', items('se', 'a', 'b'));
  await cut(shop.pool, ['a'], { state: 5 });
  const broken = await client.bulk.start({ handler: 'items', where: { state: 'failed' }, action: { do: 'redrive' } });
  await shop.pool.query(`update bulk_action set place = '{"source": 0, "place": ["x"]}'`);
  const step = await makeBulkStep(client);
  expect(step).toMatchObject({ id: broken.id, done: 0, failure: expect.any(Error) as Error });
  expect(await client.bulk.get(broken.id)).toMatchObject({ state: 'counting', error: expect.any(String) as string });
  const { rows } = await shop.pool.query(`
select tries, due_at > created_at + interval '900 ms' as later from bulk_action`);
  expect(rows).toEqual([{ tries: 1, later: true }]);
  await shop.pool.query(`update bulk_action set due_at = clock() + interval '1 hour'`); // this machine may be slow
  expect(await made(client, { handler: 'items', action: { do: 'cancel' } })).toMatchObject({ state: 'done', done: 1 });
  await shop.pool.query('update bulk_action set place = null, due_at = clock() where due_at is not null');
  await makeSteps(client);
  expect(await client.bulk.get(broken.id)).toMatchObject({ state: 'done', done: 1, error: null });
});
