import { defineHandler, HaltError, LaterError, RejectedError } from '../../handlers';
import type { HandlerOptions, SubmitAnswer } from '../../handlers';
import type { Batch } from '../../handlers/contract';
import { simulate } from '../../workers/testing';

/** One handler in a world without servers. */

interface Parcel {
  to: string;
  weight?: number;
}
type Answer = (batch: Batch<Parcel>) => SubmitAnswer;
const ok: Answer = ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok', result: id.length })) });

const handlerWith = (options: Partial<HandlerOptions<Parcel>> = {}, ...answers: Answer[]) =>
  defineHandler<Parcel>({
    name: 'parcels',
    target: ({ to }) => to,
    limits: { maxItems: 3 },
    linger: { lingerMs: 2_000 },
    submit: async (batch) => (answers.shift() ?? ok)(batch),
    ...options,
  });
const parcels = (...ids: string[]) => ids.map((id) => ({ id, payload: { to: id[0]! } }));
const said = (world: ReturnType<typeof simulate>) =>
  world.calls.map(({ atMs, target, reason, tasks }) => [atMs, target, reason, tasks.map(({ id }) => id).join(' ')]);

test('a full batch goes at once, the rest after its linger, each target by itself', async () => {
  const world = simulate(handlerWith());
  await world.submit(parcels('a1', 'a2', 'a3', 'a4', 'b1'));
  expect(said(world)).toEqual([[0, 'a', 'size', 'a1 a2 a3']]);
  await world.advance('1s');
  await world.submit(parcels('b2')[0]!);
  await world.advance('999ms');
  expect(world.calls).toHaveLength(1);
  await world.advance(1);
  expect(said(world).slice(1)).toEqual([
    [2_000, 'a', 'linger', 'a4'],
    [2_000, 'b', 'linger', 'b1 b2'],
  ]);
  expect(world.task('a4')).toEqual({
    ...{ id: 'a4', target: 'a', state: 'succeeded', attempts: 1 },
    ...{ error: null, result: 2, endedAtMs: 2_000 },
  });
});

test('time goes from one due instant to the next: a retry that is due on the way is made on the way', async () => {
  const busy: Answer = ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'retry', error: 'busy' })) });
  const delayed = { baseMs: 1_000, maxMs: 4_000 };
  const world = simulate(
    handlerWith({ linger: { lingerMs: 0 }, retry: { delayed, maxAttempts: 3 } }, busy, busy, busy),
  );
  await world.submit(parcels('a1'));
  await world.advance('1 hour');
  expect(world.calls.map(({ atMs, tasks }) => [atMs, tasks[0]!.attempts])).toEqual([
    [0, 0],
    [1_000, 1],
    [3_000, 2],
  ]);
  expect(world.task('a1')).toMatchObject({ state: 'dead', attempts: 3, error: 'busy', endedAtMs: 3_000 });
});

test('back pressure holds the target and counts no attempt; the waits come from the seed', async () => {
  const later: Answer = () => {
    throw new LaterError('slow down');
  };
  const calls = async (seed: number): Promise<number[]> => {
    const world = simulate(handlerWith({ linger: { lingerMs: 0 } }, later, later, later, later), { seed });
    await world.submit(parcels('a1', 'b1'));
    await world.advance('1 hour');
    expect(world.task('a1')).toMatchObject({ state: 'succeeded', attempts: 1 });
    return world.calls.map(({ atMs }) => atMs);
  };
  const first = await calls(1);
  expect(await calls(1)).toEqual(first);
  expect(await calls(2)).not.toEqual(first);
});

test('a poison task is found by halves and fails alone', async () => {
  const isPoison = ({ tasks }: Batch<Parcel>): SubmitAnswer => {
    if (tasks.some(({ id }) => id === 'a2')) throw new RejectedError('cannot be read');
    return ok({ tasks } as Batch<Parcel>);
  };
  const world = simulate(handlerWith({ submit: async (batch) => isPoison(batch) }));
  await world.submit(parcels('a1', 'a2', 'a3'));
  expect(world.tasks.map(({ state }) => state)).toEqual(['succeeded', 'failed', 'succeeded']);
  expect(world.batches.map(({ reason, state, tasks }) => [reason, state, tasks.length])).toEqual([
    ['size', 'dissolved', 3],
    ['bisect', 'dissolved', 2],
    ['bisect', 'succeeded', 1],
    ['bisect', 'succeeded', 1],
    ['bisect', 'failed', 1],
  ]);
});

test('a refused credential pauses the handler until the resume', async () => {
  const halt: Answer = () => {
    throw new HaltError('the key has expired');
  };
  const world = simulate(handlerWith({ linger: { lingerMs: 0 } }, halt));
  await world.submit(parcels('a1'));
  await world.advance('1 day');
  expect(world.calls.map(({ outcome }) => outcome)).toEqual(['halted']);
  expect(world.task('a1')).toMatchObject({ state: 'created', attempts: 0 });
  await world.resume();
  expect(world.task('a1')).toMatchObject({ state: 'succeeded', attempts: 1 });
});

test('an unknown outcome is parked, or looked up where the handler can', async () => {
  const lost: Answer = () => {
    throw new Error('connection reset');
  };
  const parked = simulate(handlerWith({ linger: { lingerMs: 0 } }, lost));
  await parked.submit(parcels('a1'));
  expect(parked.task('a1')).toMatchObject({
    state: 'unknown',
    attempts: 1,
    error: expect.stringMatching('connection reset'),
  });

  const reconcile = async (batch: Batch<Parcel>) => ({ status: 'done' as const, ...(ok(batch) as { results: [] }) });
  const found = simulate(handlerWith({ linger: { lingerMs: 0 }, reconcile }, lost));
  await found.submit(parcels('a1'));
  expect(found.task('a1')).toMatchObject({ state: 'succeeded', result: 2 });
});

test('a rate spaces the calls, and time between them passes', async () => {
  const world = simulate(handlerWith({ limits: { maxItems: 1 }, rate: { limit: 2, perMs: 1_000, unit: 'calls' } }));
  await world.submit(parcels('a1', 'a2', 'a3', 'b1', 'b2'));
  await world.advance('10s');
  expect(world.calls.map(({ atMs }) => atMs)).toEqual([0, 500, 1_000, 1_500, 2_000]);
});

test('keys, priorities, flushes, overrides and notBefore count as in Muster', async () => {
  const world = simulate(handlerWith({ distinctBy: ({ weight }) => String(weight) }));
  const parcel = (id: string, weight: number) => ({ id, payload: { to: 'a', weight } });
  await world.submit([parcel('a1', 1), parcel('a2', 1), { ...parcel('a3', 2), priority: -1 }]);
  await world.submit({ ...parcel('a4', 3), notBefore: world.now() + 5_000 });
  await world.flush({ target: 'a' });
  await world.setTarget('a', { lingerMs: 0 });
  await world.advance('1 minute');
  expect(said(world)).toEqual([
    [0, 'a', 'manual', 'a3 a1'],
    [0, 'a', 'manual', 'a2'],
    [5_000, 'a', 'linger', 'a4'],
  ]);
});

test('with coalesceBy the last of a key goes, and what depends on another hears of its end at the claim', async () => {
  const rate = { limit: 1, perMs: 800, unit: 'calls' as const };
  const world = simulate(handlerWith({ coalesceBy: ({ weight }) => String(weight), linger: { lingerMs: 0 }, rate }));
  const parcel = (id: string, weight: number) => ({ id, payload: { to: 'a', weight } });
  await world.submit(parcel('a1', 1));
  await world.submit([parcel('a2', 1), { ...parcel('after', 3), dependsOn: ['a2'] }, parcel('a3', 2), parcel('a4', 1)]);
  expect(world.task('a2')).toMatchObject({ state: 'cancelled', error: 'superseded by task a4', endedAtMs: 0 });
  expect(world.task('after')).toMatchObject({ state: 'failed', endedAtMs: 0 });
  await world.advance('1 minute');
  expect(said(world)).toEqual([
    [0, 'a', 'linger', 'a1'],
    [800, 'a', 'linger', 'a4 a3'],
  ]);
});

test('a task is checked as by the client, and the same id is the same task', async () => {
  const world = simulate(handlerWith());
  await expect(world.submit({ id: '', payload: { to: 'a' } })).rejects.toThrow('id');
  await world.submit(parcels('a1'));
  await world.submit(parcels('a1'));
  expect(world.tasks).toHaveLength(1);
  await expect(world.submit({ id: 'a1', payload: { to: 'b' } })).rejects.toThrow('expected an unused id');
});

describe('batches that the downstream accepts', () => {
  const accepting = (options: Partial<HandlerOptions<Parcel>> = {}) =>
    handlerWith({
      linger: { lingerMs: 0 },
      poll: { everyMs: 1_000, deadlineMs: 10_000 },
      submit: async ({ id }) => ({ status: 'accepted', reference: `job-${id}` }),
      ...options,
    });
  const result = (id: string) => ({ id, status: 'ok' as const, result: `did ${id}` });

  test('are polled until they have ended, and their results are read', async () => {
    let asked = 0;
    const world = simulate(
      accepting({
        status: async (references) =>
          references.map((reference) => ({ reference, status: ++asked < 3 ? 'pending' : 'done' })),
        results: async () => [result('a1'), { id: 'a2', status: 'failed', error: 'bad' }],
      }),
    );
    await world.submit(parcels('a1', 'a2'));
    await world.advance('2s');
    expect([world.task('a1'), world.calls]).toMatchObject([{ state: 'in-progress' }, [{ outcome: 'accepted' }]]);
    await world.advance('1 hour');
    expect(world.task('a1')).toMatchObject({ state: 'succeeded', result: 'did a1', endedAtMs: 3_000, attempts: 1 });
    expect(world.task('a2')).toMatchObject({ state: 'failed', error: 'bad', endedAtMs: 3_000 });
    expect([asked, world.calls.length]).toEqual([3, 1]);
  });

  test('are parked at their deadline, or sent again where the downstream honours the key', async () => {
    const status = async (references: readonly string[]) =>
      references.map((reference) => ({ reference, status: 'pending' as const }));
    const results = async () => [];
    const parked = simulate(accepting({ status, results, onUnknown: 'park' }));
    const sent = simulate(accepting({ status, results, idempotency: { by: 'batch' } }));
    for (const world of [parked, sent]) {
      await world.submit(parcels('a1'));
      await world.advance('11s');
    }
    expect(parked.task('a1')).toMatchObject({ state: 'unknown' });
    await sent.advance('1 minute');
    expect(sent.calls.length).toBeGreaterThan(1);
  });

  test('are completed from outside, once', async () => {
    const world = simulate(accepting({ poll: { deadlineMs: 10_000 } }));
    await world.submit(parcels('a1'));
    await world.advance('500ms');
    const told = { reference: 'job-1', results: [result('a1')] };
    expect(await world.complete(told)).toMatchObject({ batch: 1, state: 'succeeded', repeated: false });
    expect(world.task('a1')).toMatchObject({ state: 'succeeded', result: 'did a1', endedAtMs: 500 });
    expect(await world.complete(told)).toMatchObject({ repeated: true });
    await expect(world.complete({ reference: 'job-1', status: 'failed' })).rejects.toMatchObject({
      code: 'COMPLETION_STALE',
    });
    await expect(world.complete({ reference: 'job-2', results: [] })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('dependencies', () => {
  test('a task is held until those before it have ended, and fails with them unless it runs anyway', async () => {
    const refusing: Answer = ({ tasks }) => ({
      results: tasks.map(({ id }) => ({ id, status: id === 'a2' ? 'failed' : 'ok', error: 'no' })),
    });
    const world = simulate(handlerWith({}, refusing));
    await world.submit([
      { ...parcels('b1')[0]!, dependsOn: ['a1'] },
      { ...parcels('c1')[0]!, dependsOn: ['a1', 'a2'] },
      { ...parcels('d1')[0]!, dependsOn: ['c1'] },
      { ...parcels('e1')[0]!, dependsOn: ['c1', 'b1'], onDependencyFailure: 'run' },
      ...parcels('a1', 'a2'),
    ]);
    await world.advance('2s');
    expect(said(world)).toEqual([[2_000, 'a', 'linger', 'a1 a2']]);
    expect(world.task('c1')).toMatchObject({ state: 'failed', error: 'dependency "a2" failed', endedAtMs: 2_000 });
    expect(world.task('d1')).toMatchObject({ state: 'failed', error: 'dependency "c1" failed' });
    expect([world.task('b1'), world.task('e1')]).toMatchObject([{ state: 'created' }, { state: 'created' }]);
    await world.advance('2s');
    expect(said(world).slice(1)).toEqual([[4_000, 'b', 'linger', 'b1']]);
    await world.advance('2s');
    expect(said(world).slice(2)).toEqual([[6_000, 'e', 'linger', 'e1']]);
  });

  test('one that was accepted releases what waits when its status says that it has ended', async () => {
    const world = simulate(
      handlerWith({
        linger: { lingerMs: 0 },
        poll: { everyMs: 1_000, deadlineMs: 10_000 },
        submit: async ({ tasks }) => ({ status: 'accepted', reference: tasks[0]!.id }),
        status: async (references) => references.map((reference) => ({ reference, status: 'done' })),
        results: async (reference) => [{ id: reference, status: 'ok' }],
      }),
    );
    await world.submit([{ ...parcels('b1')[0]!, dependsOn: ['a1'] }, ...parcels('a1')]);
    await world.advance('1s');
    expect(said(world).map(([atMs, target]) => [atMs, target])).toEqual([
      [0, 'a'],
      [1_000, 'b'],
    ]);
  });

  test('one that ended before is none, and one that does not exist is refused', async () => {
    const world = simulate(handlerWith({ linger: { lingerMs: 0 } }));
    await world.submit(parcels('a1'));
    await world.submit({ ...parcels('b1')[0]!, dependsOn: ['a1'] });
    expect(world.task('b1')).toMatchObject({ state: 'succeeded', endedAtMs: 0 });
    await expect(world.submit({ ...parcels('b2')[0]!, dependsOn: ['none'] })).rejects.toThrow(
      'expected ids of accepted tasks or of this call, got "none"',
    );
  });
});

test('what is not simulated is refused, and names what runs it', async () => {
  const world = simulate(handlerWith({ linger: { lingerMs: 0 } }));
  await expect(world.submit({ ...parcels('a1')[0]!, expiresAt: '2030-01-01T00:00:00Z' })).rejects.toThrow(
    'Cannot simulate expiresAt',
  );
  await expect(world.advance('soon' as never)).rejects.toThrow('Cannot advance the world: expected a duration');
  await expect(world.resume({ target: 'nowhere' })).rejects.toThrow('Cannot find the target');
});
