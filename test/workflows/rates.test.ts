import type { Skipping } from '../helpers/skippingMuster';
import { startSkipping } from '../helpers/timeSkipping';
import { allOk, scripted } from './scripted';
import type { Scripted } from './scripted';

/**
 * Rates on a flowing clock: the last second before a paced start is waited for by the submission
 * itself, so calls are late by the work done.
 */
let muster: Skipping;
const now = (): Promise<number> => muster.now();
const one = { limits: { maxItems: 1 }, linger: { lingerMs: 0 } };
const paced = scripted('paced', now, { ...one, rate: { limit: 6, perMs: 60_000, unit: 'calls' } });
const each = scripted('each', now, { ...one, rate: { limit: 6, perMs: 60_000, unit: 'calls', scope: 'target' } });
const items = scripted('items', now, {
  limits: { maxItems: 5 },
  linger: { lingerMs: 0 },
  rate: { limit: 5, perMs: 20_000, unit: 'items' },
});
const weights = scripted('weights', now, {
  ...one,
  weightOf: () => 3,
  rate: { limit: 6, perMs: 60_000, unit: 'weight' },
});
/** Reading the clock takes its time: a call began between `from` and `to`. */
const quickStarts: { from: number; to: number }[] = [];
const quick = scripted('quick', now, {
  ...one,
  rate: { limit: 10, perMs: 1_000, unit: 'calls' },
  submit: async (batch) => {
    const asked = performance.now();
    const to = await now();
    quickStarts.push({ from: to - (performance.now() - asked), to });
    return allOk(batch);
  },
});
const short = scripted('short', now, { ...one, retry: { inPlace: { times: 3, baseMs: 200 } } });
const all: Scripted[] = [paced, each, items, weights, quick, short];

beforeAll(async () => {
  muster = await startSkipping(
    all.map(({ handler }) => handler),
    { clock: 'flowing' },
  );
});
afterAll(() => muster.stop());
beforeEach(() => muster.begin());

const submit = (handler: string, to: string, ids: string[]): Promise<unknown> =>
  muster.client.submit(
    handler,
    ids.map((id) => ({ id, payload: { to } })),
  );
const ids = (prefix: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${prefix}-${i}`);
const gaps = (at: readonly number[]): number[] => at.slice(1).map((time, i) => time - at[i]!);
/**
 * A call before its time is a fault; it is late by what a look and a call take on this machine,
 * never by a whole slot.
 */
const EARLY_MS = 20; // the submission waits by another clock than the database's
const expectStarts = (at: readonly number[], starts: readonly number[]): void => {
  expect(at).toHaveLength(starts.length);
  for (const [i, start] of starts.entries()) {
    expect(at[i]!).toBeGreaterThanOrEqual(start - EARLY_MS);
    expect(at[i]!).toBeLessThan(start + starts[1]! - starts[0]!);
  }
};

test('G1: 6 calls a minute start 10 s apart, over all targets of the handler', async () => {
  await submit('paced', 'a', ids('a', 3));
  await submit('paced', 'b', ids('b', 3));
  await muster.skipTo(120_000);
  expectStarts(
    paced.calls.map((call) => call.at),
    [0, 10_000, 20_000, 30_000, 40_000, 50_000],
  );
  expect(new Set(paced.calls.map((call) => call.target))).toEqual(new Set(['a', 'b']));
});

test('G1: the same for each target by itself', async () => {
  await submit('each', 'a', ids('ea', 3));
  await submit('each', 'b', ids('eb', 3));
  await muster.skipTo(120_000);
  for (const target of ['a', 'b'])
    expectStarts(
      each.calls.filter((call) => call.target === target).map((call) => call.at),
      [0, 10_000, 20_000],
    );
});

test('G1: 5 items in 20 s: a batch of 5 takes 20 s, one of 2 takes 8', async () => {
  await submit('items', 'a', ids('i', 12));
  await submit('items', 'b', ids('j', 1));
  await muster.skipTo(120_000);
  expect(items.calls.map((call) => call.ids.length).sort()).toEqual([1, 2, 5, 5]);
  const { calls } = items;
  for (const [i, call] of calls.slice(1).entries())
    expect(call.at - calls[i]!.at).toBeGreaterThanOrEqual(calls[i]!.ids.length * 4_000 - 4_000);
});

test('G1: a rate by weight', async () => {
  await submit('weights', 'a', ids('w', 3));
  await muster.skipTo(120_000);
  expectStarts(
    weights.calls.map((call) => call.at),
    [0, 30_000, 60_000],
  );
});

test('G1: 10 calls a second: never 11 within a second, and no gap of several', async () => {
  await submit('quick', 'a', ids('q', 25));
  await muster.skipTo(10_000);
  quickStarts.sort((a, b) => a.to - b.to);
  const at = quickStarts.map(({ to }) => to);
  expect(at).toHaveLength(25);
  for (const [i, { to }] of quickStarts.slice(10).entries())
    expect(to - quickStarts[i]!.from).toBeGreaterThanOrEqual(1_000 - 100);
  // Most follow one another, instead of all the 10 of a second at once and then nothing: half of
  // the gaps are above half of their share.
  const sorted = gaps(at).sort((a, b) => a - b);
  expect(sorted[Math.floor(sorted.length / 2)]!).toBeGreaterThan(50);
});

test('A16: short repeats stay in the submission: one activity, two refusals, three calls', async () => {
  short.answers.push(
    () => ({ status: 'later' }),
    () => ({ status: 'later' }),
  );
  await submit('short', 'a', ['s-0']);
  await muster.skipTo(10_000);
  expect(short.calls).toHaveLength(3);
  const scheduled = (await muster.history('short', '0')).filter(
    (event) => event.activityTaskScheduledEventAttributes != null,
  );
  expect(scheduled).toHaveLength(1);
});
