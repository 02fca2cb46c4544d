import { defineHandler } from 'temporal-muster';
import { simulate } from 'temporal-muster/testing';
import { expect, test } from 'vitest';

const handler = defineHandler({
  name: 'letters',
  target: (letter: { to: string }) => letter.to,
  limits: { maxItems: 2 },
  linger: { lingerMs: 2_000 },
  submit: async (batch) => ({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' })) }),
});

test('two letters to one address go at once, a third after the linger', async () => {
  const world = simulate(handler);
  await world.submit(['a', 'b', 'c'].map((id) => ({ id, payload: { to: 'Lund' } })));
  expect(world.calls.map(({ tasks }) => tasks.map(({ id }) => id))).toEqual([['a', 'b']]);
  await world.advance('2s');
  expect(world.calls[1]).toMatchObject({ atMs: 2_000, target: 'Lund', reason: 'linger' });
  expect(world.task('c')).toMatchObject({ state: 'succeeded', attempts: 1 });
});
