import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';

/**
 * What waiting costs: actions that nobody needs.
 *
 * @full
 */

const LEASE_MS = 7_000;
let letGo: () => void = () => undefined;
const gate = new Promise<void>((resolve) => (letGo = resolve));
let calls = 0;
const slow = defineHandler<{ to: string }>({
  name: 'slow',
  target: ({ to }) => to,
  limits: { maxItems: 1 },
  linger: { lingerMs: 0 },
  leaders: 1,
  concurrency: { perTarget: 1, perHandler: 1 },
  submit: async (batch) => {
    calls++;
    await gate;
    return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});
let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([slow], { leaseMs: LEASE_MS });
});
afterAll(async () => {
  letGo();
  await muster.stop();
});

test('a long call with a backlog behind it: its leader is let alone for longer than its lease', async () => {
  const query = async <R extends object>(text: string): Promise<R> =>
    (await muster.database.pool.query<R>(text)).rows[0]!;
  await muster.client.submit('slow', [{ id: 'a', payload: { to: 'x' } }]);
  await eventually(() => calls === 1);
  await muster.client.submit(
    'slow',
    Array.from({ length: 20 }, (_, i) => ({ id: `b-${i}`, payload: { to: `y${i}` } })),
  );
  await eventually(async () => (await query<{ state: number }>('select state from leader')).state === 1);
  const turns = async (): Promise<number> => (await query<{ turn: number }>('select turn from leader')).turn;
  // Its last turn for what came is taken; then time passes: twice its lease.
  await eventually(
    async () =>
      (
        await query<{ left: number }>(
          'select extract(epoch from expires_at - clock())::float8 * 1000 as left from leader',
        )
      ).left > 4_000,
  );
  const before = await turns();
  await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
  expect(calls).toBe(1);
  expect((await turns()) - before).toBe(0);
  letGo();
  await eventually(async () => (await muster.client.status('slow'))[0]!.counts.succeeded === 21);
});
