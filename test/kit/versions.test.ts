import { defineHandler } from '../../handlers';
import { simulate } from '../../workers/testing';

test('payloads of a world are of today: a look-up reads them as they were submitted', async () => {
  const seen: unknown[] = [];
  const world = simulate(
    defineHandler<{ to: string }>({
      name: 'letters',
      target: ({ to }) => to,
      payloadVersion: 2,
      upcast: () => {
        throw new Error('expected none of an older version');
      },
      limits: { maxItems: 1 },
      linger: { lingerMs: 0 },
      poll: { everyMs: 1_000, deadlineMs: 10_000 },
      submit: async ({ id }) => ({ status: 'accepted', reference: `job-${id}` }),
      status: async (references) => references.map((reference) => ({ reference, status: 'lost' })),
      results: async () => [],
      reconcile: async ({ tasks }) => {
        seen.push(...tasks.map(({ payload }) => payload));
        return { status: 'done', results: tasks.map(({ id }) => ({ id, status: 'ok' })) };
      },
    }),
  );
  await world.submit({ id: 'a', payload: { to: 'a' } });
  await world.advance('1 minute');
  expect(seen).toEqual([{ to: 'a' }]);
  expect(world.task('a')).toMatchObject({ state: 'succeeded' });
});
