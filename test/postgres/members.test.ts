import { defineHandler } from '../../handlers';
import type { Handler } from '../../handlers';
import { readMembersOf } from '../../postgres/calls/members';
import { insertBatches } from '../../postgres/grouping/claim';
import { readQueueHeads } from '../../postgres/grouping/queueHead';
import { inTransaction } from '../../postgres/pool';
import type { Bench } from '../workflows/bench';
import { carry, openBench } from '../workflows/bench';

/** What a claim moves, and what a call then reads of it, in the store alone. */
const calls: { ids: string[]; attempts: number[] }[] = [];
const orders = defineHandler<{ n: number; fails?: number }>({
  name: 'orders',
  target: () => 'one',
  limits: { maxItems: 100 },
  linger: { lingerMs: 0 },
  leaders: 1,
  retry: { maxAttempts: 5 },
  submit: (batch) => {
    calls.push({ ids: batch.tasks.map(({ id }) => id), attempts: batch.tasks.map(({ attempts }) => attempts) });
    return Promise.resolve({
      results: batch.tasks.map(({ id, payload, attempts }) =>
        attempts < (payload.fails ?? 0)
          ? { id, status: 'retry' as const, error: 'not yet' }
          : { id, status: 'ok' as const },
      ),
    });
  },
}) as Handler;

let bench: Bench;
beforeEach(async () => {
  calls.splice(0);
  bench = await openBench([orders]);
});
afterEach(() => bench.stop());

const run = { runId: 'run', runStartedAtMs: 1_000 };
const rows = async <R extends object>(text: string): Promise<R[]> => (await bench.database.pool.query<R>(text)).rows;

const ring = async (): Promise<void> =>
  bench.client.ring((await rows<{ id: number }>('select id from target')).map(({ id }) => id));

test('a batch is called in claim order, by priority, however its tasks lie in the table', async () => {
  const priorities = Array.from({ length: 60 }, (_, n) => (n * 7) % 3);
  const tasks = priorities.map((priority, n) => ({ id: `o-${n}`, payload: { n }, priority }));
  await bench.client.submit('orders', tasks);
  await ring(); // that of a submit by COPY follows it
  await carry(await bench.dispatch(await bench.turn(run, 1), orders));
  const wanted = [0, 1, 2].flatMap((of) => tasks.filter(({ priority }) => priority === of).map(({ id }) => id));
  expect(calls).toEqual([{ ids: wanted, attempts: wanted.map(() => 0) }]);
});

test('of a batch that some have left, the others are read, with the attempts of each', async () => {
  await bench.client.submit(
    'orders',
    [0, 1, 2].map((fails, n) => ({ id: `o-${n}`, payload: { n, fails } })),
  );
  await carry(await bench.dispatch(await bench.turn(run, 1), orders));
  await bench.client.submit('orders', { id: 'o-new', payload: { n: 9 } });
  await rows(`update delayed set not_before = clock()`);
  await ring();
  const answer = await bench.turn(run, 2);
  const [{ id, members }] = (await rows<{ id: number; members: number[] }>(
    'select id, members from batch where state = 1',
  )) as [{ id: number; members: number[] }];
  expect(members).toHaveLength(3);
  const read = async (): Promise<[string, number][]> =>
    (await readMembersOf(bench.database.pool, id)).map((member) => [member.id, member.attempts]);
  expect(await read()).toEqual([
    ['o-1', 1],
    ['o-2', 1],
    ['o-new', 0],
  ]);
  await rows(`with gone as (delete from member where seq = ${members[1]} returning seq)
    update batch set n_left = 1 where id = ${id} and exists (select from gone)`);
  expect(await read()).toEqual([
    ['o-1', 1],
    ['o-new', 0],
  ]);
  await rows(`delete from task where seq = ${members[0]}`);
  await expect(read()).rejects.toThrow(`batch ${id}: expected a row of its task ${members[0]}, got none`);
  expect(answer.dispatch).toMatchObject({ tasks: 3 });
});

test('a submit by COPY queues what is due and delays the rest, each until its own time', async () => {
  const soon = Date.now() + 3_600_123;
  const tasks = Array.from({ length: 120 }, (_, n) => ({
    id: `o-${n}`,
    payload: { n },
    priority: n % 5,
    ...(n % 3 === 0 ? { notBefore: n % 2 === 0 ? soon + n : 1_000 } : {}),
  }));
  await bench.client.submit('orders', tasks);
  const isLater = (n: number): boolean => n % 6 === 0;
  const queued = await rows<{ id: string; priority: number; same: boolean }>(
    `select k.id, q.priority, (q.target_id, q.bytes, q.ready_at) = (k.target_id, k.bytes, k.created_at) as same
     from queue q join task k using (seq) order by k.seq`,
  );
  expect(queued).toEqual(tasks.filter((_, n) => !isLater(n)).map(({ id, priority }) => ({ id, priority, same: true })));
  const delayed = await rows<{ id: string; priority: number; at: number }>(
    `select k.id, d.priority, round(extract(epoch from d.not_before) * 1000)::float8 as at
     from delayed d join task k using (seq) order by k.seq`,
  );
  expect(delayed).toEqual(tasks.flatMap(({ id, priority }, n) => (isLater(n) ? [{ id, priority, at: soon + n }] : [])));
});

test('a claim that would move other rows than it has read is refused, and moves none', async () => {
  await bench.client.submit(
    'orders',
    [0, 1, 2].map((n) => ({ id: `o-${n}`, payload: { n } })),
  );
  const { pool } = bench.database;
  const [{ id: targetId, leader }] = (await rows<{ id: number; leader: number }>(
    'select id, leader_id as leader from target',
  )) as [{ id: number; leader: number }];
  const head = (await readQueueHeads(pool, [targetId], [10], 10, { keyed: false, coalesces: false })).get(targetId)!;
  const by = { leaderId: leader, epoch: 1, turn: 1, dispatch: 1, keyed: false };
  const rest = { targetId, reason: 1, bytes: 1, weight: 1, startAtMs: null };
  const swapped = [{ ...head[0]!, place: head[2]!.place }, head[1]!];
  const claim = (tasks: typeof head): Promise<void> =>
    inTransaction(pool, (client) => insertBatches(client, by, [{ ...rest, seqs: tasks.map(({ seq }) => seq), tasks }]));
  await expect(claim(swapped)).rejects.toThrow(
    /^claim: expected to move 2 tasks \(sum \d+\), moved 2 \(\d+\); rolled back$/,
  );
  const gone = [head[0]!, { ...head[1]!, place: '(9999,1)' }];
  await expect(claim(gone)).rejects.toThrow(/moved 1 /);
  expect(await rows('select from queue')).toHaveLength(3);
  expect(await rows('select seq from member union all select id from batch')).toEqual([]);
});
