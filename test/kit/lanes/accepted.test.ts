import type { HandlerOptions } from '../../../handlers';
import { simulate } from '../../../workers/testing';
import type { Edit } from './ledger';
import { edits, ledger, order, said } from './ledger';

/** Lanes whose batches a downstream accepts and ends later, in a world without servers. */

describe('batches that the downstream accepts', () => {
  const accepting = (options: Partial<HandlerOptions<Edit>> = {}) => {
    let isDone = false;
    const handler = ledger({
      poll: { everyMs: 1_000, deadlineMs: 60_000 },
      submit: async ({ id, attempt }) => ({ status: 'accepted', reference: `job-${id}-${attempt}` }),
      status: async (references) =>
        references.map((reference) => ({ reference, status: isDone ? ('done' as const) : ('pending' as const) })),
      results: async (reference) => [{ id: reference === 'job-1-1' ? 'a1' : 'a2', status: 'ok' }],
      ...options,
    });
    return { handler, end: () => void (isDone = true) };
  };

  test('are waited for before the next one of a serial lane goes', async () => {
    const { handler, end } = accepting();
    const world = simulate(handler);
    await world.submitBatch('a', edits('a1'));
    await world.submitBatch('a', edits('a2'));
    await world.advance('5s');
    expect([order(world), world.lanes.get('a')?.state]).toEqual([['a1'], 'waiting for commit']);
    end();
    await world.advance('1s');
    expect(said(world)).toEqual([
      [0, 'a', 'a1'],
      [6_000, 'a', 'a2'],
    ]);
  });

  test('are limited per lane, and sent again in order when the downstream has lost them', async () => {
    const lane = { kind: 'guaranteed' as const, pendingLimit: 2 };
    const { handler } = accepting({ lane, idempotency: { by: 'batch' } });
    const world = simulate(handler);
    for (const id of ['a1', 'a2', 'a3']) await world.submitBatch('a', edits(id));
    expect([order(world), world.lanes.get('a')?.state]).toEqual([['a1', 'a2'], 'back pressure']);
    expect(await world.lanes.reportLost('a')).toMatchObject({ batches: 2, first: 1, last: 2 });
    await world.advance('10s');
    expect(order(world)).toEqual(['a1', 'a2', 'a1']); // it goes again once what was before it has ended
    await world.complete({ batchId: 1, results: [{ id: 'a1', status: 'ok' }] });
    await world.advance('10s');
    expect(order(world)).toEqual(['a1', 'a2', 'a1', 'a2', 'a3']);
  });

  test('of several lanes are polled at times close to each other, which takes no real time', async () => {
    const { handler, end } = accepting();
    const world = simulate(handler);
    await world.submitBatch('a', edits('a1'));
    await world.advance(100);
    await world.submitBatch('b', edits('b1'));
    await world.advance('2s');
    end();
    await world.advance('1s');
    expect(world.task('a1')).toMatchObject({ state: 'succeeded', endedAtMs: 3_000 });
  });

  test('that both fail as halves pause the handler: their content is not the reason', async () => {
    const status = async (references: readonly string[]) =>
      references.map((reference) => ({ reference, status: 'failed' as const, error: 'no credit' }));
    const { handler } = accepting({ status, lane: { approach: 'unconstrained' } });
    const world = simulate(handler);
    await world.submitBatch('a', edits('a1', 'a2'));
    await world.advance('10s');
    expect(world.tasks.map(({ state }) => state)).toEqual(['batched', 'batched']);
    expect(order(world)).toEqual(['a1 a2', 'a1', 'a2']);
  });

  test('are parked with the reason: a deadline passed, or the notice that they were lost', async () => {
    const lane = { deadlines: 1 };
    const late = simulate(accepting({ lane, poll: { everyMs: 1_000, deadlineMs: 3_000 } }).handler);
    await late.submitBatch('a', edits('a1'));
    await late.advance('10s');
    expect(late.lanes.get('a')?.reason).toContain('it passed its deadline 1 time without an end');
    const lostAll = simulate(accepting().handler);
    await lostAll.submitBatch('a', edits('a1'));
    await lostAll.lanes.reportLost('a', { reason: 'fail-over' });
    expect(lostAll.lanes.get('a')).toMatchObject({ state: 'halted', reason: expect.stringContaining('fail-over') });
  });

  test('are named to a downstream that keeps dependencies itself', async () => {
    const given: unknown[] = [];
    const { handler } = accepting({
      lane: { dependencies: 'downstream' },
      submit: async ({ id, dependsOn }) => {
        given.push(dependsOn ?? []);
        return { status: 'accepted', reference: `job-${id}` };
      },
    });
    const world = simulate(handler);
    const { batch } = await world.submitBatch('a', edits('a1'));
    await world.submitBatch('b', edits('b1'), { dependsOn: [batch] });
    expect(given).toEqual([[], [{ batch: '1', reference: 'job-1', committed: false }]]);
  });

  test('free their call at once: what waited for one goes with the next look', async () => {
    const { handler } = accepting({ lane: { approach: 'unconstrained' }, concurrency: { perTarget: 1 } });
    const world = simulate(handler);
    await world.lanes.setQueuer({ slots: 2 });
    await world.submitBatches(['a1', 'a2'].map((id) => ({ service: id[0]!, items: edits(id) })));
    expect(said(world).map(([atMs]) => atMs)).toEqual([0, 0]);
  });

  test('cannot be cancelled here, and the refusal names what can', async () => {
    const { handler } = accepting({ cancel: async () => ({ status: 'cancelled' }) });
    const world = simulate(handler);
    const { batch } = await world.submitBatch('a', edits('a1'));
    await expect(world.cancelBatch(batch)).rejects.toThrow(
      'Cannot simulate the cancellation of batch 1: expected one that the downstream does not have, ' +
        'got one that it has accepted. Test it with startMuster.',
    );
  });
});
