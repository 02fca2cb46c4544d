import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/** @slow */

const ROUNDS = rounds(12, 40);
const EACH = 60;
/** Of a round: the fourth part is never cancelled. */
const SPARED = EACH / 4;
const done = new Map<string, number>();
const jobs = defineHandler<{ to: string }>({
  name: 'jobs',
  target: (job) => job.to,
  limits: { maxItems: 7 },
  linger: { lingerMs: 5 },
  leaders: 2,
  submit: async (batch) => {
    for (const task of batch.tasks) done.set(task.id, (done.get(task.id) ?? 0) + 1);
    return { results: batch.tasks.map((task) => ({ id: task.id, status: 'ok' as const })) };
  },
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([jobs]);
});
afterAll(() => muster.stop());

test('cancels that race claims: every task is either cancelled or done once, never both [G9 A19]', async () => {
  let cancelled = 0;
  let succeeded = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const ids = Array.from({ length: EACH }, (_, i) => `r${round}-${i}`);
    const targets = ids.map((_, i) => `t${i % 5}`);
    await muster.client.submit(
      'jobs',
      ids.map((id, i) => ({ id, payload: { to: targets[i]! } })),
    );
    // Different parts of the round, from several calls at once, each over all targets: locks are
    // taken in the same order.
    const parts = [0, 1, 2].map((part) => ids.filter((_, i) => i % 4 === part));
    // In every other round in the midst of its calls, however fast the machine is: else the cancels
    // may win them all.
    if (round % 2 === 1) await eventually(() => ids.some((id) => done.has(id)), { everyMs: 1, what: 'the first call' });
    else await new Promise((resolve) => setTimeout(resolve, (round * 7) % 60));
    const answers = await Promise.all(parts.map((part) => muster.client.cancel(part)));
    const ended = await muster.client.waitFor(ids, { timeoutMs: 60_000 });
    for (const task of ended) {
      const wasCancelled = answers.some((answer) => answer.cancelled.includes(task.id));
      expect([task.id, task.state, done.get(task.id) ?? 0]).toEqual(
        wasCancelled ? [task.id, 'cancelled', 0] : [task.id, 'succeeded', 1],
      );
      if (wasCancelled) cancelled++;
      else succeeded++;
    }
  }
  // Both sides won often, or this was no race.
  expect(cancelled).toBeGreaterThan(ROUNDS * 2.5);
  expect(succeeded - ROUNDS * SPARED).toBeGreaterThan(ROUNDS * 2.5);
  await expectWhole(muster.client);
  expect((await muster.client.status('jobs'))[0]).toMatchObject({
    accepted: ROUNDS * EACH,
    identityHolds: true,
    counts: { cancelled, succeeded },
  });
});
