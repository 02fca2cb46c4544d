import { leaderWorkflowId } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import { lateTimersMs, leaderStory } from '../helpers/leaderStory';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { allOk, scripted } from './scripted';
import type { Scripted } from './scripted';

/** @slow */

/**
 * Rates in real time: the last second before a paced start is waited for by the dispatch itself.
 * (Not on the time-skipping server: a timer that fires while the workflow task that cancels it is
 * under way breaks a run of that server for good, `invalid history builder state for action`.)
 */
const now = (): Promise<number> => Promise.resolve(performance.now());
const one = { limits: { maxItems: 1 }, linger: { lingerMs: 0 } };
const paced = scripted('paced', now, { ...one, rate: { limit: 4, perMs: 12_000, unit: 'calls' } });
const each = scripted('each', now, { ...one, rate: { limit: 4, perMs: 12_000, unit: 'calls', scope: 'target' } });
const items = scripted('items', now, {
  limits: { maxItems: 5 },
  linger: { lingerMs: 0 },
  rate: { limit: 5, perMs: 5_000, unit: 'items' },
});
const weights = scripted('weights', now, {
  ...one,
  weightOf: () => 3,
  rate: { limit: 6, perMs: 10_000, unit: 'weight' },
});
/** The plan alone does not keep this rate: the process stands still once, and is late with some. */
const quickStarts: number[] = [];
const quick = scripted('quick', now, {
  ...one,
  rate: { limit: 10, perMs: 1_000, unit: 'calls' },
  submit: (batch) => {
    quickStarts.push(performance.now());
    if (quickStarts.length === 6) standStill(500);
    return Promise.resolve(allOk(batch));
  },
});
const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const short = scripted('short', now, { ...one, retry: { inPlace: { times: 3, baseMs: 200 } } });
const all: Scripted[] = [paced, each, items, weights, quick, short];

let muster: TestMuster;
beforeAll(async () => {
  short.answers.push(
    () => ({ status: 'later' }),
    () => ({ status: 'later' }),
    (batch) => allOk(batch),
  );
  muster = await startMuster(all.map(({ handler }) => handler));
  // Side by side: each has a rate of its own, and nothing of one is another's.
  await Promise.all([
    submit('paced', { a: 2, b: 2 }),
    submit('each', { a: 3, b: 3 }),
    submit('items', { a: 7, b: 1 }),
    submit('weights', { a: 3 }),
    submit('short', { a: 1 }),
  ]);
});
afterAll(() => muster.stop());

const begunAt = new Map<string, number>();
const submit = async (handler: string, tasksOf: Record<string, number>): Promise<void> => {
  begunAt.set(handler, performance.now());
  for (const [to, n] of Object.entries(tasksOf))
    await muster.client.submit(
      handler,
      Array.from({ length: n }, (_, i) => ({ id: `${handler}-${to}-${i}`, payload: { to } })),
    );
};
const callsOf = async ({ handler, calls }: Scripted, n: number): Promise<Scripted['calls']> => {
  await eventually(() => calls.length >= n, { timeoutMs: 120_000, what: `${n} calls of ${handler.name}` });
  return calls;
};

const EARLY_MS = 20; // the dispatch waits by another clock than the database's
/**
 * Call number n begins `slotMs * n` after the submit at the earliest. It is late by what a turn and
 * a call take on this machine, never by a whole slot after the plan that the first call shows,
 * beside what the server's own timers were late: one was once, by 11 s, when all others were not.
 */
const expectSlots = async (handler: Scripted, calls: Scripted['calls'], slotMs: number): Promise<void> => {
  const { name } = handler.handler;
  const from = begunAt.get(name)!;
  for (const [i, { at }] of calls.entries()) {
    expect(at).toBeGreaterThanOrEqual(from + i * slotMs - EARLY_MS);
    const lateMs = at - (calls[0]!.at + (i + 1) * slotMs);
    if (lateMs >= 0 && lateMs >= (await lateTimersMs(muster, name)))
      throw new Error(`call ${i} began ${lateMs} ms late; ${await leaderStory(muster, name, '0')}`);
  }
};

test('4 calls in 12 s start 3 s apart, over all targets of the handler [G1]', async () => {
  const calls = await callsOf(paced, 4);
  await expectSlots(paced, calls, 3_000);
  expect(new Set(calls.map((call) => call.target))).toEqual(new Set(['a', 'b']));
});

test('the same for each target by itself [G1]', async () => {
  const calls = await callsOf(each, 6);
  for (const target of ['a', 'b'])
    await expectSlots(
      each,
      calls.filter((call) => call.target === target),
      3_000,
    );
});

test('5 items in 5 s: after a batch of 5 nothing for 5 s, after one of 2 for 2 [G1]', async () => {
  const calls = await callsOf(items, 3);
  expect(calls.map((call) => call.ids.length).sort()).toEqual([1, 2, 5]);
  let earliest = begunAt.get('items')!;
  for (const { at, ids } of calls) {
    expect(at).toBeGreaterThanOrEqual(earliest - EARLY_MS);
    earliest += ids.length * 1_000;
  }
  expect(calls.at(-1)!.at).toBeLessThan(calls[0]!.at + 7_000 + 3_000);
});

test('a rate by weight gives each call a slot of its weight [G1]', async () => {
  await expectSlots(weights, await callsOf(weights, 3), 5_000);
});

test('short repeats stay in the dispatch: one activity, two refusals, three calls [A16]', async () => {
  await callsOf(short, 3);
  const { rows } = await muster.database.pool.query<{ id: number; name: string }>(
    `select l.id, l.name from leader l join handler h on h.id = l.handler_id where h.name = 'short'`,
  );
  const id = leaderWorkflowId(muster.prefix, 'short', rows[0]!.name, rows[0]!.id);
  const { events } = await (await muster.client.temporal()).workflow.getHandle(id).fetchHistory();
  expect(events!.filter((event) => event.activityTaskScheduledEventAttributes != null)).toHaveLength(1);
  expect(short.calls).toHaveLength(3);
});

test('10 calls a second: never 11 within a second, and not all of a second at once [G1]', async () => {
  await submit('quick', { a: 25 });
  await eventually(() => quickStarts.length >= 25, { timeoutMs: 120_000, what: '25 calls of quick' });
  const LATE_MS = 100; // from its turn to its call, on a busy machine
  for (const [i, start] of quickStarts.slice(10).entries())
    expect(start - quickStarts[i]!).toBeGreaterThanOrEqual(1_000 - LATE_MS);
  // Most follow one another. All ten of a second at once would leave two pauses; a machine that
  // stands for a moment joins some calls, and those a second after them.
  const pauses = quickStarts.slice(1).filter((start, i) => start - quickStarts[i]! > 50);
  expect(pauses.length).toBeGreaterThanOrEqual(5);
});
