import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pollAccepted } from '../../../activities/accepted/poll';
import type { ItemResult } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { acceptBatch } from '../../../postgres/calls/settle';
import { eventually } from '../../helpers/eventually';
import type { Bench } from '../../workflows/bench';
import { carry, openBench } from '../../workflows/bench';

/**
 * What the Web UI and the store show of a read of results that goes on.
 *
 * @slow
 */

/** Results that the test hands out; null: their end. */
class Feed {
  private readonly left: (ItemResult | null)[] = [];
  private wake: () => void = () => undefined;

  give(...results: (ItemResult | null)[]): void {
    this.left.push(...results);
    this.wake();
  }

  async *read(): AsyncGenerator<ItemResult> {
    for (;;) {
      while (this.left.length === 0) await new Promise<void>((resolve) => (this.wake = resolve));
      const one = this.left.shift()!;
      if (one === null) return;
      yield one;
    }
  }
}

const feed = new Feed();
const jobsOf = (idleMs?: number) =>
  defineHandler<{ to: string }>({
    name: 'jobs',
    target: ({ to }) => to,
    limits: { maxItems: 10 },
    linger: { lingerMs: 0 },
    submit: () => Promise.resolve({ status: 'accepted', reference: 'r' }),
    status: () => Promise.resolve([{ reference: 'r', status: 'done' }]),
    results: () => Promise.resolve(feed.read()),
    poll: { everyMs: 100, ...(idleMs === undefined ? {} : { idleMs }) },
  });
let bench: Bench;
afterEach(() => bench.stop());

/** Submits two tasks in one batch, which the downstream accepts. */
const accepted = async (jobs = jobsOf()) => {
  bench = await openBench([jobs]);
  const ids = [randomUUID(), randomUUID()];
  await bench.client.submit(
    'jobs',
    ids.map((one) => ({ id: one, payload: { to: 'x' } })),
  );
  const turn = await bench.turn({ runId: 'run', runStartedAtMs: 1 }, 1);
  const deps = await bench.dispatch(turn, jobs);
  await carry(deps);
  await bench.database.pool.query('update batch set poll_at = clock()');
  return { ids, deps };
};
const readAgoMs = async (): Promise<number | null> => (await bench.client.explain(id())).facts.batch!.readAgoMs ?? null;
let id: () => string;

test('heartbeats and the store tell that results are read, and since when none has come', async () => {
  const { ids, deps } = await accepted();
  id = () => ids[0]!;
  const beats: unknown[] = [];
  const activity = new MockActivityEnvironment();
  activity.on('heartbeat', (details) => beats.push(details));
  const looking = activity.run(() => pollAccepted(deps, { handler: 'jobs' }));
  await eventually(async () => (await readAgoMs())! > 3_000, { timeoutMs: 20_000, what: 'a read without results' });
  expect((await bench.client.explain(id())).text).toMatch(/its results are being read/);
  const [one] = (beats.at(-1) as { at: { batch: number; step: string; forMs: number }[] }).at;
  expect(one).toMatchObject({ batch: 1, step: 'reading its results' });
  expect(one!.forMs).toBeGreaterThan(500);
  expect(beats[0]).toMatchObject({ settled: 0 });
  feed.give({ id: ids[0]!, status: 'ok' });
  await eventually(async () => (await readAgoMs())! < 3_000, { what: 'a sign of the result' });
  feed.give({ id: ids[1]!, status: 'ok' }, null);
  await looking;
  expect(await bench.client.getTask(id())).toMatchObject({ state: 'succeeded' });
});

test('a completion from outside whose results do not come is told of as such a read', async () => {
  const { ids } = await accepted();
  id = () => ids[0]!;
  const completing = bench.client.complete('jobs', { reference: 'r', results: feed.read() });
  await eventually(async () => (await readAgoMs())! > 4_000, { timeoutMs: 20_000, what: 'a read without results' });
  expect((await bench.client.explain(id())).text).toMatch(/its results are being read/);
  feed.give({ id: ids[0]!, status: 'ok' });
  await eventually(async () => (await readAgoMs())! < 4_000, { timeoutMs: 20_000, what: 'a sign of the result' });
  feed.give(null);
  expect(await completing).toMatchObject({ results: { ok: 1 } });
});

test('a completion that hangs for poll.idleMs loses the batch, and settles nothing when it goes on', async () => {
  const { ids } = await accepted(jobsOf(1_000));
  id = () => ids[0]!;
  const completing = bench.client.complete('jobs', { reference: 'r', results: feed.read() });
  await eventually(async () => (await bench.client.explain(id())).facts.batch!.pollInMs! > 5_000, {
    what: 'its lease',
  });
  const isDue = async () => (await bench.client.explain(id())).facts.batch!.pollInMs! < 0;
  await eventually(isDue, { timeoutMs: 25_000, what: 'the end of its lease' });
  await bench.database.pool.query('update batch set attempt = attempt + 1'); // as the monitor claims it
  feed.give({ id: ids[0]!, status: 'ok' }, null);
  await expect(completing).rejects.toThrow();
  expect(await bench.client.getTask(id())).toMatchObject({ state: 'in-progress' });
}, 60_000);

test('a batch that is accepted anew is not being read', async () => {
  const { ids } = await accepted();
  id = () => ids[0]!;
  await bench.database.pool.query("update batch set read_at = clock(), poll_at = clock() + interval '5 s'");
  expect(await readAgoMs()).not.toBeNull();
  await acceptBatch(bench.database.pool, 1, 1, { reference: 'r2', everyMs: 60_000, deadlineMs: 600_000 });
  expect(await readAgoMs()).toBeNull();
});
