import { concludeEarlier, makeCall, prepare } from '../../activities/calls/attempt';
import type { CallEnd } from '../../activities/calls/door';
import { settle } from '../../activities/calls/settle';
import { defineHandler } from '../../handlers';
import { readDispatch } from '../../postgres/calls/batch';
import { TASK_STATES } from '../../workflows/planning/states';
import { eventually } from '../helpers/eventually';
import type { Bench, Run } from './bench';
import { carry, openBench } from './bench';

/**
 * Two leaders at once, and one leader's decisions twice: the stale one writes nothing, and nothing
 * that the true one decided is lost.
 */
const calls: string[][] = [];
const orders = defineHandler<{ to: string }>({
  name: 'orders',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  leaders: 1,
  idempotency: { by: 'batch' },
  submit: async (batch) => {
    calls.push(batch.tasks.map(({ id }) => id));
    return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
});

const keyed = defineHandler<{ to: string }>({
  ...{ name: 'keyed', target: ({ to }) => to, limits: { maxItems: 10 }, linger: { lingerMs: 0 }, leaders: 1 },
  idempotency: { by: 'task', windowMs: 60_000 },
  retry: { delayed: { baseMs: 10, maxMs: 10 } },
  submit: orders.submit,
});

let bench: Bench;
beforeEach(async () => {
  calls.splice(0);
  bench = await openBench([orders, keyed]);
});
afterEach(() => bench.stop());

const older: Run = { runId: 'older', runStartedAtMs: 1_000 };
const newer: Run = { runId: 'newer', runStartedAtMs: 2_000 };
const rows = async <R extends object>(text: string): Promise<R[]> => (await bench.database.pool.query<R>(text)).rows;
/** A submit waits half a second for its ring; these tests want it to be over. */
const submit = async (...ids: string[]): Promise<void> => {
  await bench.client.submit(
    'orders',
    ids.map((id) => ({ id, payload: { to: id.split('-')[0]! } })),
  );
  const unrung = `
select from target t join leader l on l.id = t.leader_id
where (t.due_at is null or l.state = 0 /* idle */) and exists (select from queue q where q.target_id = t.id)`;
  await eventually(async () => (await rows(unrung)).length === 0);
};
/** All that a leader may write. */
const everything = async (): Promise<string> =>
  JSON.stringify([
    await rows('select * from leader order by id'),
    await rows('select * from target order by id'),
    await rows('select * from batch order by id'),
    await rows('select * from dispatch order by no'),
    await rows('select * from queue order by seq'),
    await rows('select * from member order by seq'),
  ]);
const states = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await rows<{ id: string; state: number }>('select id, state from task_state')).map(({ id, state }) => [id, state]),
  );

test("a later run raises the epoch; the older run's claim is refused and writes nothing, however much is due [A7]", async () => {
  await submit('se-1');
  expect(await bench.turn(older, 1)).toMatchObject({ deposed: false, epoch: 1, dispatch: { tasks: 1 } });
  expect(await bench.turn(newer, 1)).toMatchObject({ deposed: false, epoch: 2 });
  await submit('se-2', 'no-1');
  const before = await everything();
  expect(await bench.turn(older, 2, { live: [1_000_001] })).toMatchObject({ deposed: true, epoch: 2, dispatch: null });
  expect(await bench.turn(older, 7)).toMatchObject({ deposed: true });
  expect(await everything()).toBe(before);
});

test('of 16 runs that take a turn on one leader row at the same moment the latest has it, whose dispatch alone is sent; 15 write nothing more [A7]', async () => {
  await submit('se-1', 'no-1');
  const runs = Array.from({ length: 16 }, (_, i): Run => ({ runId: `run-${i}`, runStartedAtMs: 1_000 + i }));
  // The later run does not wait for the expiry: Temporal starts the next run when the last is over.
  await bench.turn(older, 1, { mayClaim: false });
  expect(await rows('select from leader where expires_at > clock()')).toHaveLength(1);
  const shuffled = runs.map((_, i) => runs[(i * 7 + 3) % 16]!);
  const answers = await Promise.all(shuffled.map((run) => bench.turn(run, 1)));
  const epochs = answers.filter(({ deposed }) => !deposed).map(({ epoch }) => epoch);
  expect(new Set(epochs).size).toBe(epochs.length);
  expect(await rows('select holder, epoch from leader')).toEqual([{ holder: 'run-15', epoch: Math.max(...epochs) }]);
  // Each took the batches from the one before: they are in the last dispatch alone.
  for (const answer of answers) if (answer.dispatch !== null) await carry(await bench.dispatch(answer, orders));
  expect(calls.map((ids) => ids.join()).sort()).toEqual(['no-1', 'se-1']);
  await submit('dk-1');
  const before = await everything();
  const losers = await Promise.all(runs.slice(0, 15).map((run) => bench.turn(run, 2)));
  expect(losers.filter(({ deposed, dispatch }) => deposed && dispatch === null)).toHaveLength(15);
  expect(await everything()).toBe(before);
  expect(await bench.turn(runs[15]!, 2)).toMatchObject({ deposed: false, dispatch: { tasks: 1 } });
});

test('a repeated turn writes nothing and answers what the first did: its dispatch is still sent', async () => {
  await submit('se-1', 'no-1');
  const first = await bench.turn(older, 1);
  await submit('se-2');
  const before = await everything();
  const again = await bench.turn(older, 1);
  expect(again).toMatchObject({ epoch: first.epoch, dispatch: first.dispatch, deposed: false });
  expect(await everything()).toBe(before);
  await carry(await bench.dispatch(again, orders));
  expect(calls.flat().sort()).toEqual(['no-1', 'se-1']);
});

test('a workflow task of several turns that is rerun from its first: it goes on, and the next turn takes back what was never sent', async () => {
  await submit('se-1');
  const first = await bench.turn(older, 1);
  await submit('no-1');
  await bench.turn(older, 2, { live: [first.dispatch!.no] });
  await submit('dk-1');
  const third = await bench.turn(older, 3, { live: [first.dispatch!.no] });
  // The process died before the task was completed: none of the three dispatches was scheduled. The
  // rerun asks for turn 1 again.
  const before = await everything();
  const rerun = await bench.turn(older, 1);
  expect(rerun.deposed).toBe(false);
  expect(rerun.again).toBe(true);
  expect(rerun.dispatch).toBeNull();
  const second = await bench.turn(older, 2);
  expect([second.deposed, second.again, second.dispatch]).toEqual([false, true, null]);
  expect(await bench.turn(older, 3)).toMatchObject({ deposed: false, dispatch: third.dispatch });
  expect(await everything()).toBe(before);
  const sent = [third.dispatch!.no];
  await carry(await bench.dispatch(third, orders));
  for (let turn = 4; turn < 10; turn++) {
    const answer = await bench.turn(older, turn, { live: sent });
    if (answer.dispatch === null) {
      if (!answer.again) break;
      continue;
    }
    sent.push(answer.dispatch.no);
    await carry(await bench.dispatch(answer, orders));
  }
  expect(await states()).toEqual({
    'se-1': TASK_STATES.succeeded,
    'no-1': TASK_STATES.succeeded,
    'dk-1': TASK_STATES.succeeded,
  });
  expect(calls.flat().sort()).toEqual(['dk-1', 'no-1', 'se-1']);
});

test('a repeated turn looks again for work that came while its first execution died between commit and re-read', async () => {
  await submit('se-1');
  const { pool } = bench.database;
  // The first execution's claim, and then its process is gone: what follows the commit never ran.
  const first = await bench.turn(older, 1);
  // A task whose ring found the target due (before the claim wrote it) and the leader working
  // (before the claim published it).
  await pool.query(
    `insert into task (seq, created_at, target_id, bytes, id, payload) values (999999, clock(), 1, 2, 'se-2', '{}')`,
  );
  await pool.query(`insert into queue (target_id, seq, ready_at, bytes) values (1, 999999, clock(), 2)`);
  const again = await bench.turn(older, 1);
  expect(again.dispatch).toEqual(first.dispatch);
  expect(again.again).toBe(true);
});

test('a zombie dispatch cannot mark after its batches were adopted, and calls nobody [H3]', async () => {
  await submit('se-1', 'no-1');
  const mine = await bench.turn(older, 1);
  const zombie = await bench.dispatch(mine, orders);
  const carried = await readDispatch(zombie.pool, 1, zombie.input.no);
  const adopted = await bench.turn(newer, 1);
  expect(adopted.dispatch).toMatchObject({ batches: 2 });
  expect(await prepare(zombie, carried)).toEqual([]);
  await carry(await bench.dispatch(adopted, orders));
  expect(await prepare(zombie, carried)).toEqual([]);
  expect(calls).toHaveLength(2);
});

test('adoption of a marked call waits for its deadline; its true late answer counts while no newer attempt exists [A19 A14]', async () => {
  await submit('se-1');
  const mine = await bench.dispatch(await bench.turn(older, 1), orders);
  const [marked] = await prepare(mine, await readDispatch(mine.pool, 1, mine.input.no));
  const takeover = await bench.turn(newer, 1);
  expect(takeover.dispatch).toBeNull(); // nobody takes the next attempt before attempt_until has passed
  // ... and the new run waits for that moment: nothing else would bring it back.
  const next = takeover.again ? await bench.turn(newer, 2) : takeover;
  expect(next.next).toBe('waiting');
  expect(next.dueInMs).toBeGreaterThan(30_000);
  const { call, outcome } = await makeCall(mine, marked!);
  expect(await settle(call, outcome)).toMatchObject({ written: true });
  expect(await states()).toEqual({ 'se-1': TASK_STATES.succeeded });
});

test('a late answer is refused once a newer attempt exists, whatever it says [A14]', async () => {
  await submit('se-1');
  const mine = await bench.dispatch(await bench.turn(older, 1), orders);
  const [marked] = await prepare(mine, await readDispatch(mine.pool, 1, mine.input.no));
  await bench.turn(newer, 1);
  // Its deadline passes; the outcome is unknown, the newer leader sends again: attempt 2.
  await bench.database.pool.query(`update batch set attempt_until = clock(), retry_at = clock() - interval '1 s'`);
  await bench.client.ring([1]);
  const again = await bench.turn(newer, 2);
  expect(again.dispatch).toMatchObject({ batches: 1 });
  const theirs = await bench.dispatch(again, orders);
  await bench.database.pool.query(`update batch set attempt_until = null`); // concluded as unknown, to be sent again
  const [second] = await prepare(theirs, await readDispatch(theirs.pool, 1, theirs.input.no));
  expect(second!.attempt).toBe(2);
  const late = await makeCall(mine, marked!);
  const whatever: CallEnd[] = [
    late.outcome,
    { kind: 'results', deviants: [{ index: 0, status: 'failed', error: 'refused' }] },
    { kind: 'results', deviants: [{ index: 0, status: 'retry' }] },
    { kind: 'rejected', error: 'poison' },
    { kind: 'accepted', reference: 'r-1' },
    { kind: 'later', scope: 'handler', error: 'busy' },
    { kind: 'halted', error: 'credential expired' },
    { kind: 'unknown', error: 'connection reset' },
  ];
  for (const outcome of whatever) {
    expect(await settle(late.call, outcome)).toMatchObject({ written: false });
    expect(await states()).toEqual({ 'se-1': TASK_STATES['in-progress'] });
  }
  const { call, outcome } = await makeCall(theirs, second!);
  expect(await settle(call, outcome)).toMatchObject({ written: true });
  expect(await states()).toEqual({ 'se-1': TASK_STATES.succeeded });
});

test('what a dead run left open is adopted by the first turn of the next, also where nothing else is due [A9]', async () => {
  await submit('se-1');
  await bench.turn(older, 1); // its dispatch is never scheduled
  const takeover = await bench.turn(newer, 1);
  expect(takeover).toMatchObject({ epoch: 2, dispatch: { batches: 1, tasks: 1 } });
  await carry(await bench.dispatch(takeover, orders));
  expect(await states()).toEqual({ 'se-1': TASK_STATES.succeeded });
});

test('a dispatch that died is adopted by the next turn of the same run [A9]', async () => {
  await submit('se-1', 'no-1');
  await bench.turn(older, 1);
  const answer = await bench.turn(older, 2); // its activity failed: no longer live
  expect(answer).toMatchObject({ epoch: 1, dispatch: { batches: 2 } });
  expect(await rows('select no from dispatch')).toHaveLength(1); // the dead one's slots are free
});

test.each([
  [50, TASK_STATES['in-progress']],
  [61, TASK_STATES.unknown],
])(
  'a call that its run did not live to conclude, adopted %i s after it: its key holds for 60 s',
  async (seconds, state) => {
    await bench.client.submit('keyed', { id: 'se-1', payload: { to: 'se' } });
    const leaderId = (await rows<{ id: number }>('select id from leader'))[0]!.id;
    const marked = await bench.dispatch(await bench.turn(older, 1, { leaderId }), keyed, leaderId);
    await prepare(marked, await readDispatch(marked.pool, leaderId, marked.input.no));
    const age = `update batch set attempt_until = clock(), started_at = clock() - $1 * interval '1 s'`;
    await bench.database.pool.query(age, [seconds]);
    const adopting = await bench.dispatch(await bench.turn(newer, 1, { leaderId }), keyed, leaderId);
    const [batch] = await readDispatch(adopting.pool, leaderId, adopting.input.no);
    expect(batch).toMatchObject({ attempt: 1, unconcluded: true });
    const { call, outcome } = await concludeEarlier(adopting, batch!);
    await settle(call, outcome);
    expect(await states()).toEqual({ 'se-1': state });
    expect(calls).toEqual([]);
  },
);
