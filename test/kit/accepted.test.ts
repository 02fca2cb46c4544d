import { defineHandler } from '../../handlers';
import type { HandlerOptions } from '../../handlers';
import { simulate } from '../../workers/testing';

/** What a downstream reports of batches that it had accepted, in a world without servers. */

interface Parcel {
  to: string;
}
const accepting = (options: Partial<HandlerOptions<Parcel>> = {}) =>
  defineHandler<Parcel>({
    name: 'parcels',
    target: ({ to }) => to,
    limits: { maxItems: 3 },
    linger: { lingerMs: 0 },
    poll: { deadlineMs: 60_000 },
    submit: async ({ id }) => ({ status: 'accepted', reference: `job-${id}` }),
    ...options,
  });
const parcels = (...ids: string[]) => ids.map((id) => ({ id, payload: { to: id[0]! } }));
const done = (id: string) => ({ id, status: 'ok' as const });

test.each<[string, { error?: string }, string]>([
  ['with its reason', { error: '24 h' }, 'not done when its batch expired: 24 h'],
  ['without a reason', {}, 'not done when its batch expired'],
])('expired, %s: what has a result keeps it, and each of the others says why it has none', async (_, why, error) => {
  const world = simulate(accepting({ retry: { maxAttempts: 1 } }));
  await world.submit(parcels('a1', 'a2'));
  await world.complete({ reference: 'job-1', status: 'expired', results: [done('a1')], ...why });
  expect(world.task('a1')).toMatchObject({ state: 'succeeded', error: null });
  expect(world.task('a2')).toMatchObject({ state: 'dead', error });
});

test('failed, and results beside it, contradict each other: nothing is settled by that', async () => {
  const world = simulate(accepting());
  await world.submit(parcels('a1'));
  const told = { reference: 'job-1', status: 'failed' as const, results: [done('a1')] };
  await expect(world.complete(told)).rejects.toMatchObject({
    code: 'INVALID_COMPLETION',
    message: expect.stringMatching(/^results: expected no results with status failed/) as string,
  });
  expect(world.task('a1')).toMatchObject({ state: 'in-progress' });
});

test('lost by its status, and found by a look-up: it is asked about again until both agree', async () => {
  let isThere = false;
  const world = simulate(
    accepting({
      poll: { everyMs: 1_000, deadlineMs: 60_000 },
      status: async (references) =>
        references.map((reference) => ({ reference, status: isThere ? ('done' as const) : ('lost' as const) })),
      reconcile: async () => ({ status: 'accepted', reference: 'job-1' }),
      results: async () => [done('a1')],
    }),
  );
  await world.submit(parcels('a1'));
  await world.advance('5s');
  expect(world.task('a1')).toMatchObject({ state: 'in-progress' });
  isThere = true;
  await world.advance('1s');
  expect(world.task('a1')).toMatchObject({ state: 'succeeded', endedAtMs: 6_000 });
  expect(world.calls).toHaveLength(1);
});
