import { defineHandler } from 'temporal-muster';
import type { StartedMuster } from 'temporal-muster/testing';
import { startMuster } from 'temporal-muster/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

const sent: string[][] = [];
const handler = defineHandler({
  name: 'letters',
  target: (letter: { to: string }) => letter.to,
  limits: { maxItems: 100 },
  linger: { lingerMs: 3_600_000 },
  submit: async (batch) => {
    sent.push(batch.tasks.map(({ id }) => id));
    return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' })) };
  },
});

let muster: StartedMuster;
beforeAll(async () => {
  muster = await startMuster({ handlers: [handler] });
});
afterAll(() => muster?.stop());

test('letters wait an hour for others, which takes no hour', async () => {
  await muster.client.submit(handler, [{ id: 'a', payload: { to: 'Lund' } }]);
  await muster.clock.advance('30 minutes');
  await muster.client.submit(handler, [{ id: 'b', payload: { to: 'Lund' } }]);
  expect(sent).toEqual([]);
  await muster.clock.advance('30 minutes');
  expect(sent).toEqual([['a', 'b']]);
});
