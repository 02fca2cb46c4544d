import { defineHandler, HaltError, LaterError, RejectedError } from '../../../handlers';
import { simulate } from '../../../workers/testing';
import type { Answer, Edit } from './ledger';
import { edits, ledger, lost, ok, order, said } from './ledger';

/** Lanes in a world without servers. */

/** Calls that stand in the way until the test lets the handler go. */
const held = async (world: ReturnType<typeof simulate<Edit>>): Promise<void> => {
  await world.submitBatch('z', edits('z0'));
  await world.lanes.pauseAll();
};

test('lanes are served in turn, those of one service in order', async () => {
  const world = simulate(ledger());
  await held(world);
  for (const id of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) await world.submitBatch(id[0]!, edits(id));
  await world.lanes.resumeAll();
  expect(order(world)).toEqual(['z0', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('by weight one service gets its share, and by sequence all go as they were submitted', async () => {
  const play = async (strategy: 'per-service' | 'single'): Promise<string[]> => {
    const world = simulate(ledger());
    await world.lanes.setQueuer({ slots: 1, strategy });
    await held(world);
    for (const id of ['a1', 'a2', 'b1', 'a3', 'b2', 'b3']) await world.submitBatch(id[0]!, edits(id));
    await world.lanes.setWeight('a', 2);
    await world.lanes.resumeAll();
    return order(world).slice(1);
  };
  expect(await play('per-service')).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'b3']);
  expect(await play('single')).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'b3']);
  const world = simulate(ledger());
  await world.lanes.setQueuer({ slots: 1 });
  await held(world);
  for (const id of ['a1', 'a2', 'b1', 'a3']) await world.submitBatch(id[0]!, edits(id));
  await world.lanes.resumeAll();
  expect(order(world).slice(1)).toEqual(['a1', 'b1', 'a2', 'a3']);
});

test('single tasks wait in their lane for others, and become prefixes of it', async () => {
  const world = simulate(ledger({ linger: { lingerMs: 2_000 } }));
  await world.submit(edits('a1', 'a2', 'a3', 'a4', 'b1'));
  expect(said(world)).toEqual([[0, 'a', 'a1 a2 a3']]);
  expect(world.lanes.get('a')).toMatchObject({ queued: ['a4'], granted: 1 });
  await world.submitBatch('a', edits('a5'));
  expect(said(world).slice(1)).toEqual([
    [0, 'a', 'a4'],
    [0, 'a', 'a5'],
  ]);
  await world.advance('2s');
  expect(said(world).at(-1)).toEqual([2_000, 'b', 'b1']);
});

test('single tasks of a lane share a batch as long as their bytes fit into one', async () => {
  const limits = { maxItems: 3, maxBytes: 30 }; // 13 each
  const world = simulate(ledger({ limits, linger: { lingerMs: 2_000 } }));
  await world.submit(edits('a1', 'a2', 'a3', 'a4'));
  await world.advance('2s');
  expect(order(world)).toEqual(['a1 a2', 'a3 a4']);
});

test('a batch refused for now is sent again, later and later, and nothing of its lane goes before', async () => {
  let left = 3;
  const busy: Answer = (batch) => {
    if (batch.target === 'a' && left-- > 0) throw new LaterError('busy');
    return ok(batch);
  };
  const world = simulate(ledger({ submit: async (batch) => busy(batch) }));
  await world.submitBatch('a', edits('a1'));
  await world.submitBatch('a', edits('a2'));
  await world.submitBatch('b', edits('b1'));
  expect(world.lanes.get('a')).toMatchObject({ state: 'back pressure' });
  await world.advance('1 minute');
  expect(said(world)).toEqual([
    [0, 'a', 'a1'],
    [0, 'b', 'b1'],
    [250, 'a', 'a1'],
    [1_000, 'a', 'a1'],
    [2_250, 'a', 'a1'],
    [2_250, 'a', 'a2'],
  ]);
});

describe('an unknown outcome', () => {
  test('halts its lane, until an operator has it sent again, applied, or skipped', async () => {
    const play = async (decide: (world: ReturnType<typeof simulate<Edit>>) => Promise<unknown>) => {
      const world = simulate(ledger({}, lost));
      await world.submitBatch('a', edits('a1'));
      await world.submitBatch('a', edits('a2'));
      expect(world.lanes.get('a')).toMatchObject({ state: 'halted', haltedBy: 1 });
      expect(world.task('a1')).toMatchObject({ state: 'unknown' });
      expect(await decide(world)).toEqual({ batch: 1 });
      expect(world.lanes.list()).toMatchObject([{ state: 'empty', reason: null }]);
      return [order(world), world.task('a1')?.state, world.batches[0]?.lane?.status];
    };
    const again = play(({ lanes }) => lanes.fix('a', { as: 'again' }));
    expect(await again).toEqual([['a1', 'a1', 'a2'], 'succeeded', 'committed']);
    const applied = play(({ lanes }) => lanes.fix('a', { as: 'applied' }));
    expect(await applied).toEqual([['a1', 'a2'], 'succeeded', 'committed']);
    const skipped = play(({ lanes }) => lanes.skip('a'));
    expect(await skipped).toEqual([['a1', 'a2'], 'failed', 'skipped']);
  });

  test('is sent again with its key where the downstream honours it, or looked up', async () => {
    const keyed = simulate(ledger({ idempotency: { by: 'batch' } }, lost));
    await keyed.submitBatch('a', edits('a1'));
    await keyed.advance('1 minute');
    expect([order(keyed), keyed.task('a1')?.state]).toEqual([['a1', 'a1'], 'succeeded']);

    let looks = 0;
    const reconcile = async () => (++looks < 3 ? { status: 'unsure' as const } : { status: 'absent' as const });
    const found = simulate(ledger({ reconcile, absentAfterMs: 0 }, lost));
    await found.submitBatch('a', edits('a1'));
    await found.advance('1 minute');
    expect([looks, said(found)]).toEqual([
      3,
      [
        [0, 'a', 'a1'],
        [5_000, 'a', 'a1'], // found absent after 4 s, and sent again a second later
      ],
    ]);
  });

  test('that no look-up clears up is looked up as often as the handler says, then halts its lane', async () => {
    let looks = 0;
    const reconcile = async () => (looks++, { status: 'unsure' as const });
    const world = simulate(ledger({ reconcile, lane: { lookUps: 3, lookUpEveryMs: 1_000 } }, lost));
    await world.submitBatch('a', edits('a1'));
    await world.advance('1 minute');
    expect([looks, order(world), world.lanes.get('a')?.state]).toEqual([3, ['a1'], 'halted']);
    expect(world.lanes.get('a')?.reason).toMatch(/^unknown: 3 look-ups/);
  });
});

test('an invalid batch halts its lane where it must, and corrected items take its place', async () => {
  const refused: Answer = () => {
    throw new RejectedError('unbalanced');
  };
  const world = simulate(ledger({ lane: { onInvalid: 'halt' }, bisect: false }, refused));
  await world.submitBatch('a', edits('a1'));
  await world.submitBatch('a', edits('a2'));
  expect(world.lanes.get('a')).toMatchObject({ state: 'halted', reason: 'invalid: unbalanced' });
  await expect(world.lanes.fix('a', { as: 'applied' })).rejects.toThrow('a batch with an unknown outcome');
  await world.lanes.fix('a', { items: edits('a3') });
  expect([order(world), world.task('a1')?.state]).toEqual([['a1', 'a3', 'a2'], 'failed']);
  await expect(world.lanes.skip('a')).rejects.toMatchObject({ code: 'NOT_HALTED' });
  await expect(world.lanes.pause('nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('what depends on a batch waits for its commit, and fails with it unsent', async () => {
  const world = simulate(ledger({}, lost));
  const { batch } = await world.submitBatch('a', edits('a1'));
  await world.submitBatch('b', edits('b1'), { dependsOn: [batch] });
  expect(world.lanes.get('b')).toMatchObject({ state: 'waiting for dependency' });
  await world.lanes.skip('a');
  expect(order(world)).toEqual(['a1']);
  expect(world.task('b1')).toMatchObject({
    state: 'failed',
    error: 'not sent: batch 1, on which it depends, was not applied',
  });
});

test('a paused lane sends nothing, and a batch that was not sent can be cancelled', async () => {
  const world = simulate(ledger());
  await world.submitBatch('a', edits('a1'));
  await world.lanes.pause('a', 'stock-taking');
  const { batch } = await world.submitBatch('a', edits('a2'));
  await world.submitBatch('a', edits('a3'));
  expect(world.lanes.get('a')).toMatchObject({
    ...{ state: 'paused', reason: 'stock-taking' },
    batches: [{ batch, status: 'unsubmitted' }, { tasks: ['a3'] }],
  });
  expect(await world.cancelBatch(batch)).toEqual({ batch, service: 'a', tasks: ['a2'] });
  expect(world.task('a2')).toMatchObject({ state: 'cancelled' });
  await world.lanes.resume('a');
  expect(order(world)).toEqual(['a1', 'a3']);
  await expect(world.cancelBatch(1)).rejects.toMatchObject({ code: 'NOT_CANCELLABLE' });
});

test('what was granted beside a call that pauses the handler goes back unsent', async () => {
  const halt: Answer = () => {
    throw new HaltError('the key has expired');
  };
  const world = simulate(ledger({}, halt));
  await world.submitBatches(['a1', 'b1'].map((id) => ({ service: id[0]!, items: edits(id) })));
  expect(order(world)).toEqual(['a1']);
  expect(world.batches.map(({ lane }) => lane?.status)).toEqual(['unsubmitted', 'unsubmitted']);
  await world.resume();
  expect(order(world)).toEqual(['a1', 'a1', 'b1']);
});

test('batches whose sets do not meet overtake each other in a parallel lane', async () => {
  const world = simulate(ledger({ lane: { approach: 'parallel' } }, lost));
  await world.lanes.setQueuer({ slots: 3 });
  await world.submitBatch('z', edits('z0'));
  await world.lanes.pauseAll();
  await world.submitBatch('a', edits('a1'), { writes: ['price'] });
  await world.submitBatch('a', edits('a2'), { writes: ['price'] });
  await world.submitBatch('a', edits('a3'), { reads: ['stock'] });
  await world.lanes.resumeAll();
  expect(order(world).slice(1)).toEqual(['a1', 'a3', 'a2']);
});

test('a rate holds calls back in lanes, too', async () => {
  const world = simulate(ledger({ rate: { limit: 2, perMs: 1_000, unit: 'calls' } }));
  for (const id of ['a1', 'b1', 'c1', 'd1']) await world.submitBatch(id[0]!, edits(id));
  await world.advance('10s');
  expect(said(world).map(([atMs]) => atMs)).toEqual([0, 500, 1_000, 1_500]);
});

test('a pause of all lanes leaves the timer of the queuer as it was: a batch is still cut, and not sent', async () => {
  const world = simulate(ledger({ linger: { lingerMs: 2_000 } }));
  await world.submit(edits('a1'));
  await world.lanes.pauseAll();
  await world.advance('1 minute');
  expect(world.batches.map(({ atMs, lane }) => [atMs, lane])).toEqual([
    [2_000, { service: 'a', status: 'unsubmitted' }],
  ]);
  await world.lanes.resumeAll();
  expect(said(world)).toEqual([[60_000, 'a', 'a1']]);
});

test('what is refused is refused as a whole, and leaves nothing behind', async () => {
  const world = simulate(ledger());
  await world.submitBatch('a', edits('a1'));
  await expect(
    world.submitBatches([
      { service: 'b', items: edits('b1') },
      { service: 'a', items: edits('a1', 'a2') },
    ]),
  ).rejects.toThrow('expected new ids, or exactly the items of one batch again');
  expect(world.tasks.map(({ id }) => id)).toEqual(['a1']);
  await expect(world.submitBatch('b', edits('a9'))).rejects.toThrow('service');
  expect(await world.submitBatch('a', edits('a1'))).toEqual({ batch: 1, service: 'a', accepted: false });
  await world.submitBatch('b', edits('b1'));
  expect(order(world)).toEqual(['a1', 'b1']);
});

test('without lanes a batch cannot be submitted', async () => {
  const { lane: _, service: __, ...plain } = ledger();
  const world = simulate(
    defineHandler<Edit>({
      name: 'plain',
      target: plain.target,
      limits: { maxItems: 3 },
      submit: async (batch) => ok(batch),
    }),
  );
  await expect(world.submitBatch('a', edits('a1'))).rejects.toThrow('an ordered handler');
});
