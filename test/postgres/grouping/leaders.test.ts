import { readNextDue } from '../../../postgres/grouping/claim';
import { lockLeader } from '../../../postgres/grouping/leader';
import { wakeExpiredLeaders } from '../../../postgres/grouping/leaderWakes';
import { readHandlerWeight } from '../../../postgres/grouping/slots';
import { setTargetPaused } from '../../../postgres/grouping/target';
import { at, Rows } from '../rows/rows';

/** What a leader is told of its targets and batches, and of no other leader's. */

let rows: Rows;
beforeAll(async () => {
  rows = await Rows.open();
});
afterAll(() => rows.close());

const MINUTE = 60_000;

test('a leader looks next when the first of its own targets is due that may be served', async () => {
  const due = at(2 * MINUTE);
  const place = await rows.place('due', { target: { due_at: at(3 * MINUTE) } });
  await rows.target(place, 'first', { due_at: due });
  await rows.target(place, 'without a time');
  await rows.target(place, 'busy', { due_at: at(MINUTE), busy: true });
  await rows.target(place, 'paused', { due_at: at(MINUTE), paused: true, paused_at: at(0) });
  const other = await rows.place('due elsewhere', { target: { due_at: at(MINUTE) } });
  expect(await readNextDue(rows.pool, place.leaderId)).toEqual({ dueAtMs: due.getTime(), open: false });
  await rows.query('update target set due_at = null where leader_id = $1', [place.leaderId]);
  expect(await readNextDue(rows.pool, place.leaderId)).toEqual({ dueAtMs: null, open: false });
  expect((await readNextDue(rows.pool, other.leaderId)).dueAtMs).not.toBeNull();
});

test('a leader has open batches as long as one of its own is with a dispatch', async () => {
  const [place, other] = [await rows.place('open'), await rows.place('open elsewhere')];
  const ended = { state: 4, attempt: 1, started_at: at(0), finished_at: at(0) };
  await rows.batch(place);
  await rows.batch(place, ended);
  await rows.batch(other, { dispatch: 1 });
  expect(await readNextDue(rows.pool, place.leaderId)).toMatchObject({ open: false });
  await rows.batch(place, { dispatch: 1 });
  expect(await readNextDue(rows.pool, place.leaderId)).toMatchObject({ open: true });
});

test('a hold of the handler counts until its time has come', async () => {
  const { handlerId, leaderId } = await rows.place('held');
  const holdOf = async (until: Date | null): Promise<number | null> => {
    await rows.query('update handler set hold_until = $2 where id = $1', [handlerId, until]);
    return (await lockLeader(rows.pool, leaderId))!.handlerHoldMs;
  };
  const later = at(MINUTE);
  expect(await holdOf(null)).toBeNull();
  expect(await holdOf(later)).toBe(later.getTime());
  expect(await holdOf(at(-MINUTE))).toBeNull();
  expect(await lockLeader(rows.pool, 999_999)).toBeNull();
});

test('leaders at work or waiting are woken when their lease has passed, the longest silent first', async () => {
  const { handlerId } = await rows.place('leased');
  const leader = async (name: string, columns: object): Promise<number> =>
    (await rows.insert('leader', { handler_id: handlerId, name, ...columns })).id;
  const past = at(-MINUTE);
  const waiting = await leader('waits', { state: 2, wake_at: at(MINUTE), expires_at: at(-2 * MINUTE), blocked: true });
  const working = await leader('works', { state: 1, expires_at: past });
  await leader('rests', { state: 0, expires_at: past });
  await leader('works, and lives', { state: 1, expires_at: at(MINUTE) });
  await leader('waits, and lives', { state: 2, wake_at: past, expires_at: at(MINUTE) });
  const wake = async (limit: number): Promise<number[]> =>
    (await wakeExpiredLeaders(rows.pool, limit, 15_000)).map(({ leaderId }) => leaderId);
  expect(await wake(1)).toEqual([waiting]);
  expect(await wake(10)).toEqual([working]);
  expect(await wake(10)).toEqual([]);
  const woken = await rows.query(
    `select state, wake_at, blocked, woken_at is not null as woken, expires_at > clock() as leased
     from leader where id = any($1)`,
    [[waiting, working]],
  );
  const atWork = { state: 1, wake_at: null, blocked: false, woken: true, leased: true };
  expect(woken).toEqual([atWork, atWork]);
});

test('the weight in flight of a handler is that of the open batches of its leaders', async () => {
  const [place, other] = [await rows.place('heavy'), await rows.place('heavy elsewhere')];
  expect(await readHandlerWeight(rows.pool, place.handlerId)).toBe(0);
  const second = await rows.insert('leader', { handler_id: place.handlerId, name: '1' });
  await rows.batch(place, { weight: 2.5 });
  await rows.batch({ ...place, leaderId: second.id }, { weight: 4 });
  await rows.batch(place, { weight: 100, state: 3 });
  await rows.batch(place, { weight: 200, state: 4, finished_at: at(0) });
  await rows.batch(other, { weight: 400 });
  expect(await readHandlerWeight(rows.pool, place.handlerId)).toBe(6.5);
});

test('a pause keeps its first time and takes the last reason; a resume ends it, and what held the target', async () => {
  const { targetId } = await rows.place('paused', { target: { hold_until: at(MINUTE) } });
  const stateOf = async () =>
    (
      await rows.query<{ paused: boolean; since: Date | null; reason: string | null; held: boolean }>(
        `select paused, paused_at as since, pause_reason as reason, hold_until is not null as held
         from target where id = $1`,
        [targetId],
      )
    )[0]!;
  expect(await setTargetPaused(rows.pool, 'paused', 'to', 'one')).toBe(targetId);
  const first = await stateOf();
  expect(first).toMatchObject({ paused: true, since: expect.any(Date), reason: 'one', held: true });
  await setTargetPaused(rows.pool, 'paused', 'to', 'two');
  expect(await stateOf()).toEqual({ ...first, reason: 'two' });
  expect(await setTargetPaused(rows.pool, 'paused', 'to', null)).toBe(targetId);
  expect(await stateOf()).toEqual({ paused: false, since: null, reason: null, held: false });
});

test.each([
  ['target', 'paused', 'nowhere'],
  ['handler', 'nobody', 'to'],
])('a pause of a %s that is not there is null', async (_, handler, key) => {
  expect(await setTargetPaused(rows.pool, handler, key, 'why')).toBeNull();
});
