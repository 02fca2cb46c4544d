import { defineHandler } from '../../handlers';
import type { Handler } from '../../handlers';
import { countBacklog } from '../../postgres/grouping/leader';
import { registerShare } from '../../postgres/limits/shared';
import { readUnrest } from '../../postgres/testing/clock';
import { leaderIndex } from '../../workflows/planning/grouping/hash';
import { MOST_COUNTED } from '../../workflows/planning/grouping/leaderDetails';
import { tapPool } from '../chaos/judge/tap';
import type { Bench } from '../workflows/bench';
import { carry, openBench } from '../workflows/bench';

/**
 * The demands on the store's side of grouping, a turn of a leader at a time; the test is the
 * workflow.
 */
interface Order {
  to: string;
  secret?: string;
}
const calls: { target: string; ids: string[]; payloads: Order[] }[] = [];
const orders = defineHandler<Order>({
  name: 'orders',
  target: ({ to }) => to,
  limits: { maxItems: 3 },
  linger: { lingerMs: 0 },
  leaders: 1,
  submit: (batch) => {
    calls.push({
      target: batch.target,
      ids: batch.tasks.map(({ id }) => id),
      payloads: batch.tasks.map(({ payload }) => payload),
    });
    return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
}) as Handler;
const slow = defineHandler<Order>({
  name: 'slow',
  target: ({ to }) => to,
  limits: { maxItems: 1_000 },
  linger: { lingerMs: 600_000 },
  leaders: 'target',
  submit: () => Promise.resolve({ results: [] }),
}) as Handler;
const shared = defineHandler<Order>({
  name: 'shared',
  target: ({ to }) => to,
  limits: { maxItems: 1_000 },
  linger: { lingerMs: 0 },
  submit: () => Promise.resolve({ results: [] }),
}) as Handler;
const busy = defineHandler<Order>({
  name: 'busy',
  target: ({ to }) => to,
  limits: { maxItems: 3 },
  linger: { lingerMs: 0 },
  leaders: 1,
  submit: () => Promise.resolve({ status: 'later', retryAfterMs: 60_000 }),
}) as Handler;

let bench: Bench;
beforeEach(async () => {
  calls.splice(0);
  bench = await openBench([orders, slow, shared, busy]);
});
afterEach(() => bench.stop());

const run = { runId: 'run', runStartedAtMs: 1_000 };
const submit = (handler: string, ...tasks: [id: string, to: string][]): Promise<unknown> =>
  bench.client.submit(
    handler,
    tasks.map(([id, to]) => ({ id, payload: { to } })),
  );
const rows = async <R extends object>(text: string): Promise<R[]> => (await bench.database.pool.query<R>(text)).rows;
const states = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await rows<{ id: string; state: number }>('select id, state from task_state order by seq')).map((r) => [
      r.id,
      r.state,
    ]),
  );

test("with leaders: 'target' one lock row per target, with holder, epoch, when it was acquired and when it expires [A3]", async () => {
  await submit('slow', ['s-1', 'se'], ['s-2', 'no']);
  const leaders = await rows<{ id: number; name: string; targets: number }>(
    `select l.id, l.name, (select count(*)::int from target t where t.leader_id = l.id) as targets from leader l order by l.name`,
  );
  expect(leaders.map(({ name, targets }) => [name, targets])).toEqual([
    ['no', 1],
    ['se', 1],
  ]);
  await bench.turn(run, 1, { leaderId: leaders[0]!.id });
  const [held, free] = await rows<{ holder: string | null; epoch: number; acquired: boolean; live: boolean | null }>(
    'select holder, epoch, acquired_at is not null as acquired, expires_at > clock() as live from leader order by name',
  );
  expect(held).toEqual({ holder: 'run', epoch: 1, acquired: true, live: true });
  expect(free).toMatchObject({ holder: null, epoch: 0, acquired: false });
});

test('by default two lock rows share the targets by their keys: a turn on one row serves its set, and leaves the others alone [A3]', async () => {
  const keys = Array.from({ length: 24 }, (_, i) => `t-${i}`).sort();
  await submit('shared', ...keys.map((key): [string, string] => [`a-${key}`, key]));
  const led = await rows<{ key: string; leaderId: number; name: string }>(
    'select t.key, l.id as "leaderId", l.name from target t join leader l on l.id = t.leader_id order by t.key collate "C"',
  );
  expect(led.map(({ key, name }) => [key, name])).toEqual(keys.map((key) => [key, String(leaderIndex(key, 2))]));
  expect(new Set(led.map(({ name }) => name)).size).toBe(2);
  const own = led.filter(({ leaderId }) => leaderId === led[0]!.leaderId).map(({ key }) => key);
  const { dispatch } = await bench.turn(run, 1, { leaderId: led[0]!.leaderId });
  expect(dispatch).toMatchObject({ batches: own.length, tasks: own.length });
  const batched = 'select t.key from batch b join target t on t.id = b.target_id order by t.key collate "C"';
  expect((await rows<{ key: string }>(batched)).map(({ key }) => key)).toEqual(own);
  expect(await rows('select name, holder, epoch from leader where epoch > 0')).toEqual([
    { name: led[0]!.name, holder: 'run', epoch: 1 },
  ]);
  // The row is the lock of its whole set: a run that lost it is refused every target of it.
  await submit('shared', ...keys.map((key): [string, string] => [`b-${key}`, key]));
  const later = { runId: 'later', runStartedAtMs: 2_000 };
  await bench.turn(later, 1, { leaderId: led[0]!.leaderId, mayClaim: false });
  expect(await bench.turn(run, 2, { leaderId: led[0]!.leaderId, live: [dispatch!.no] })).toMatchObject({
    deposed: true,
    dispatch: null,
  });
  expect((await rows<{ key: string }>(batched)).map(({ key }) => key)).toEqual(own);
});

test('a batch has an id of its own, one target, computed from the content, and its members [A4 A5]', async () => {
  await submit('orders', ['o-1', 'se'], ['o-2', 'no'], ['o-3', 'se'], ['o-4', 'se'], ['o-5', 'se']);
  const first = await bench.turn(run, 1);
  const batches = await rows<{ key: string; members: string[] }>(
    `select t.key, array(select k.id from unnest(b.members) u (seq) join task k on k.seq = u.seq order by k.seq) as members
     from batch b join target t on t.id = b.target_id order by b.id`,
  );
  expect(first.dispatch).toMatchObject({ batches: batches.length });
  // Equal targets need not share one: o-5 is above the limit of three.
  expect(batches.map(({ key, members }) => [key, members]).sort()).toEqual([
    ['no', ['o-2']],
    ['se', ['o-1', 'o-3', 'o-4']],
    ['se', ['o-5']],
  ]);
  expect(await rows('select id from batch group by id having count(*) > 1')).toEqual([]);
  await expect(
    bench.database.pool.query(
      'insert into member (seq, batch_id, attempts) select seq, batch_id, 0 from member limit 1',
    ),
  ).rejects.toThrow(/member_pkey/); // a task in two batches is refused by the key
});

test('a task that is in a batch takes no part, even if its target is said to be due [A6]', async () => {
  await submit('orders', ['o-1', 'se']);
  const first = await bench.turn(run, 1);
  expect(first.dispatch).toMatchObject({ tasks: 1 });
  await submit('orders', ['o-1', 'se']); // the same task once more
  await bench.database.pool.query('update target set due_at = clock(), busy = false');
  const second = await bench.turn(run, 2, { live: [first.dispatch!.no] });
  expect(second.dispatch).toBeNull();
  expect(await rows('select id from batch')).toHaveLength(1);
});

test('losers cost nothing: 200 submits to a target whose leader waits wake it once, and write nothing to its row [A8]', async () => {
  await submit('slow', ['s-0', 'se']);
  expect(bench.wakes.count).toBe(1);
  const row = (): Promise<object[]> => rows('select xmin, leader.* from leader');
  const before = await row();
  await Promise.all(Array.from({ length: 200 }, (_, i) => submit('slow', [`s-${i + 1}`, 'se'])));
  expect(bench.wakes.count).toBe(1);
  expect(await row()).toEqual(before);
});

test('what a step hands to the next are ids and counts; the payload is read from the store [A10]', async () => {
  await bench.client.submit('orders', { id: 'o-1', payload: { to: 'se', secret: 'TOPSECRET' } });
  const answer = await bench.turn(run, 1);
  expect(Object.keys(answer.dispatch!).sort()).toEqual(['batches', 'callTimeoutMs', 'no', 'slots', 'tasks']);
  expect(JSON.stringify(answer)).not.toMatch(/TOPSECRET|o-1/);
  await carry(await bench.dispatch(answer, orders));
  expect(calls).toEqual([{ target: 'se', ids: ['o-1'], payloads: [{ to: 'se', secret: 'TOPSECRET' }] }]);
});

test('created tasks become members in arrival order, at once or not at all [A11]', async () => {
  const arrivals = Array.from({ length: 6 }, (_, i): [string, string] => [`o-${(i * 7) % 10}`, 'se']);
  for (const one of arrivals) await submit('orders', one);
  let dies = true;
  tapPool(bench.database.pool, {
    after: ({ name }) =>
      dies && name === 'insert-batches' ? Promise.reject(new Error('the process died')) : Promise.resolve(),
  });
  await expect(bench.turn(run, 1)).rejects.toThrow('the process died');
  expect(Object.values(await states())).toEqual([0, 0, 0, 0, 0, 0]);
  expect(await rows('select id from batch union all select seq from member')).toEqual([]);
  dies = false;
  await carry(await bench.dispatch(await bench.turn(run, 1), orders));
  expect(calls.flatMap(({ ids }) => ids)).toEqual(arrivals.map(([id]) => id));
});

test('a batch that was refused for now as often as is counted waits after one refusal more, too', async () => {
  await submit('busy', ['b-1', 'se']);
  const answer = await bench.turn(run, 1);
  await bench.database.pool.query('update batch set refusals = 32767');
  await carry(await bench.dispatch(answer, busy));
  expect(await rows('select state, refusals, retry_at > clock() as waits from batch')).toEqual([
    { state: 1, refusals: 32_767, waits: true },
  ]);
});

test('a leader takes no more of the limit that its handler shares than is left of it', async () => {
  await submit('orders', ['o-1', 'se'], ['o-2', 'no']);
  const rates = [{ limit: 1, perMs: 3_600_000, unit: 'calls' as const }];
  await registerShare(bench.database.pool, 'orders', { name: 'key', rates, concurrency: 6 });
  const answer = await bench.turn(run, 1);
  expect(answer).toMatchObject({ dispatch: { batches: 1 }, next: 'waiting', heldBy: 'shared rate' });
  expect(answer.dueInMs).toBeGreaterThan(3_000_000);
});

test('what waits for a leader is counted of its own targets, not of those of another', async () => {
  await submit('slow', ['s-1', 'se'], ['s-2', 'no'], ['s-3', 'no']);
  const leaders = await rows<{ id: number; name: string }>('select id, name from leader order by name');
  const counted = await Promise.all(
    leaders.map(async ({ id, name }) => [name, await countBacklog(bench.database.pool, id, MOST_COUNTED)]),
  );
  expect(counted).toEqual([
    ['no', { targets: 1, tasks: 2 }],
    ['se', { targets: 1, tasks: 1 }],
  ]);
});

test('the clock of a test waits for a woken leader, and from then on for the calls of its dispatch', async () => {
  expect(await readUnrest(bench.database.pool)).toEqual({ deciding: 0, unrung: 0, calling: 0 });
  await submit('orders', ['o-1', 'se']);
  expect(await readUnrest(bench.database.pool)).toEqual({ deciding: 1, unrung: 0, calling: 0 });
  const { dispatch } = await bench.turn(run, 1);
  // More is due, and its run leaves that to the next one.
  await submit('orders', ['o-2', 'no']);
  const left = await bench.turn(run, 2, { live: [dispatch!.no], mayClaim: false });
  expect(left).toMatchObject({ dispatch: null, next: 'working' });
  expect(await readUnrest(bench.database.pool)).toEqual({ deciding: 0, unrung: 0, calling: 1 });
});
