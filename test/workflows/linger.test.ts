import { FLUSH_REASONS } from '../../workflows/planning/states';
import { rounds } from '../helpers/long';
import type { Skipping } from '../helpers/skippingMuster';
import { startSkipping } from '../helpers/timeSkipping';
import { operate } from './operate';
import { scripted } from './scripted';
import type { Scripted } from './scripted';

const DAY_MS = 86_400_000;
const DAYS = rounds(5, 30);
let muster: Skipping;
const now = (): Promise<number> => muster.now();
const pairs = scripted('pairs', now, { limits: { maxItems: 2 }, linger: { lingerMs: 100 } });
/**
 * What a signal cuts short waits long here: the skipping server breaks a run whose timer falls due
 * while a workflow task cancels it.
 */
const slow = scripted('slow', now, { limits: { maxItems: 2 }, linger: { lingerMs: 100_000 } });
const second = scripted('second', now, { linger: { lingerMs: 1_000 } });
const quiet = scripted('quiet', now, { linger: { lingerMs: 3_000, quietPeriodMs: 500 } });
const fours = scripted('fours', now, {
  limits: { maxItems: 10, minItems: 4 },
  linger: { lingerMs: 3_000, quietPeriodMs: 500 },
});
const all: Scripted[] = [pairs, slow, second, quiet, fours];

beforeAll(async () => {
  muster = await startSkipping(all.map((each) => each.handler));
});
afterAll(() => muster.stop());
beforeEach(async () => {
  for (const { calls } of all) calls.splice(0);
  await muster.begin();
});

const submit = (handler: string, to: string, ...ids: string[]): Promise<unknown> =>
  muster.client.submit(
    handler,
    ids.map((id) => ({ id, payload: { to } })),
  );
/**
 * Durations (ms) of the timers of the leader's current or last run: each is a wait that it chose.
 */
const timers = async (handler: string): Promise<number[]> =>
  (await muster.history(handler, '0')).flatMap(({ timerStartedEventAttributes: timer }) =>
    timer == null
      ? []
      : [Number(timer.startToFireTimeout?.seconds ?? 0) * 1_000 + (timer.startToFireTimeout?.nanos ?? 0) / 1e6],
  );

/**
 * One wait of so long, however slow the machine: the server's clock goes on while something works,
 * so the timer may fire while the stepped clock of the database is not there yet; then the leader
 * waits for exactly the rest of it (`rests`: what it may be), once more or several times.
 */
const expectOneWait = async (handler: string, ms: number, ...rests: number[]): Promise<void> => {
  const [first, ...more] = await timers(handler);
  expect(first).toBe(ms);
  expect([ms, ...rests]).toEqual(expect.arrayContaining(more));
  expect(more).toEqual([...more].sort((a, b) => b - a));
};

describe('size 2, linger 100 ms', () => {
  test('one task is not sent before 100 ms, then alone [A12]', async () => {
    await submit('pairs', 'one', 'p-1');
    await muster.skipTo(50);
    expect(pairs.calls).toEqual([]);
    await muster.skipTo(100);
    expect(pairs.calls).toEqual([{ at: 100, target: 'one', ids: ['p-1'] }]);
    expect(await muster.batches('pairs')).toEqual([{ at: 100, n: 1, reason: FLUSH_REASONS.linger, target: 'one' }]);
    await expectOneWait('pairs', 100, 50);
  });

  test('two tasks go at once, as one call [A12 A15]', async () => {
    await submit('pairs', 'two', 'p-2', 'p-3');
    await muster.settle();
    expect(pairs.calls).toEqual([{ at: 0, target: 'two', ids: ['p-2', 'p-3'] }]);
    expect(await muster.batches('pairs')).toEqual([{ at: 0, n: 2, reason: FLUSH_REASONS.size, target: 'two' }]);
    expect(await timers('pairs')).toEqual([]);
  });

  test('the second of two tasks ends the wait of the first [A12]', async () => {
    await submit('slow', 'late', 'p-4');
    await muster.skipTo(60_000);
    await submit('slow', 'late', 'p-5');
    await muster.settle();
    expect(slow.calls).toEqual([{ at: 60_000, target: 'late', ids: ['p-4', 'p-5'] }]);
  });

  test('the third of three waits its own linger, without a new arrival [A13]', async () => {
    await submit('slow', 'three', 'p-6', 'p-7', 'p-8');
    await muster.settle();
    expect(slow.calls).toEqual([{ at: 0, target: 'three', ids: ['p-6', 'p-7'] }]);
    await muster.skipTo(100_000);
    expect(slow.calls[1]).toEqual({ at: 100_000, target: 'three', ids: ['p-8'] });
  });

  test('after a flush the wait starts again for the next one [G6]', async () => {
    const { flush } = operate(muster.database.pool, muster.client);
    await submit('slow', 'flushed', 'p-9');
    await muster.skipTo(30_000);
    expect(await flush('slow', 'flushed')).toBe(1);
    await muster.settle();
    await submit('slow', 'flushed', 'p-10');
    await muster.skipTo(500_000);
    expect(slow.calls.map(({ at, ids }) => [at, ids])).toEqual([
      [30_000, ['p-9']],
      [130_000, ['p-10']],
    ]);
    expect((await muster.batches('slow')).map(({ reason }) => reason)).toEqual([
      FLUSH_REASONS.manual,
      FLUSH_REASONS.linger,
    ]);
  });

  test('flushing nothing makes nothing due [G6]', async () => {
    const { flush } = operate(muster.database.pool, muster.client);
    expect(await flush('slow', 'flushed')).toBe(0);
    expect(await flush('slow', 'nobody')).toBe(0);
    await muster.skipTo(200_000);
    expect(slow.calls).toEqual([]);
  });

  test('a task with notBefore joins no batch before it is due, and its linger counts from then [G1]', async () => {
    await muster.client.submit('slow', { id: 'p-11', payload: { to: 'timed' }, notBefore: muster.unixMs(500_000) });
    await submit('slow', 'timed', 'p-12');
    await muster.skipTo(499_000);
    expect(slow.calls).toEqual([{ at: 100_000, target: 'timed', ids: ['p-12'] }]);
    await muster.skipTo(900_000);
    expect(slow.calls[1]).toEqual({ at: 600_000, target: 'timed', ids: ['p-11'] });
  });

  test('a task that becomes due fills the batch of one that lingers [G1]', async () => {
    await muster.client.submit('slow', { id: 'p-13', payload: { to: 'joined' }, notBefore: muster.unixMs(500_000) });
    await muster.skipTo(450_000);
    await submit('slow', 'joined', 'p-14');
    await muster.skipTo(900_000);
    // In the order of their submission, though the second was ready before the first.
    expect(slow.calls).toEqual([{ at: 500_000, target: 'joined', ids: ['p-13', 'p-14'] }]);
  });
});

describe('linger and quiet period', () => {
  test('arrivals at 0, 0.4, 0.8 s, linger 1 s: one batch at 1.0 s, one wait [A12]', async () => {
    for (const [i, at] of [0, 400, 800].entries()) {
      await muster.skipTo(at);
      await submit('second', 'three', `s-${i}`);
    }
    await muster.skipTo(10_000);
    expect(second.calls).toEqual([{ at: 1_000, target: 'three', ids: ['s-0', 's-1', 's-2'] }]);
    expect(await muster.batches('second')).toEqual([
      { at: 1_000, n: 3, reason: FLUSH_REASONS.linger, target: 'three' },
    ]);
    await expectOneWait('second', 1_000, 600, 200);
  });

  test('quiet period 0.5 s, linger 3 s, an arrival every 0.4 s: one batch at 3.0 s [A12]', async () => {
    for (let i = 0; i <= 7; i++) {
      await muster.skipTo(i * 400);
      await submit('quiet', 'busy', `q-${i}`);
    }
    await muster.skipTo(10_000);
    expect(quiet.calls).toEqual([{ at: 3_000, target: 'busy', ids: Array.from({ length: 8 }, (_, i) => `q-${i}`) }]);
    expect(await muster.batches('quiet')).toMatchObject([{ at: 3_000, n: 8, reason: FLUSH_REASONS.linger }]);
  });

  test('arrivals that stop close the batch one quiet period after the last [A12]', async () => {
    for (const [i, at] of [0, 300, 700].entries()) {
      await muster.skipTo(at);
      await submit('quiet', 'stops', `q-stop-${i}`);
    }
    await muster.skipTo(10_000);
    expect(await muster.batches('quiet')).toMatchObject([{ at: 1_200, n: 3, reason: FLUSH_REASONS.quiet }]);
  });

  test('below minItems a quiet period closes nothing, the linger does [H6]', async () => {
    await submit('fours', 'few', 'f-0', 'f-1', 'f-2');
    await muster.skipTo(100);
    await submit('fours', 'many', 'f-3', 'f-4', 'f-5', 'f-6');
    await muster.skipTo(10_000);
    expect(await muster.batches('fours')).toEqual([
      { at: 600, n: 4, reason: FLUSH_REASONS.quiet, target: 'many' },
      { at: 3_000, n: 3, reason: FLUSH_REASONS.linger, target: 'few' },
    ]);
  });

  test('overrides of one target, beside another with the settings of the handler [G5]', async () => {
    await submit('slow', 'plain', 'o-0');
    await submit('slow', 'own', 'o-1');
    await operate(muster.database.pool, muster.client).override('slow', 'own', { lingerMs: 20_000, maxItems: 3 });
    await muster.skipTo(30_000);
    await submit('slow', 'own', 'o-2', 'o-3', 'o-4', 'o-5');
    await muster.skipTo(200_000);
    expect((await muster.batches('slow')).map(({ at, n, target }) => [target, at, n])).toEqual([
      ['own', 20_000, 1],
      ['own', 30_000, 3],
      ['own', 50_000, 1],
      ['plain', 100_000, 1],
    ]);
  });

  test(`a linger of ${DAYS} days costs a look a day at most, and its batch is sent on the day [A12]`, async () => {
    await submit('second', 'month', 'm-0');
    await muster.skipTo(2_000);
    await operate(muster.database.pool, muster.client).override('second', 'month', { lingerMs: DAYS * DAY_MS });
    await muster.begin();
    await submit('second', 'month', 'm-1');
    await submit('second', 'plain', 'm-2'); // a look of its own on the way
    await muster.skipTo(DAYS * DAY_MS - 1);
    expect(second.calls.flatMap((call) => call.ids)).toEqual(['m-0', 'm-2']);
    await muster.skipTo(DAYS * DAY_MS);
    expect(second.calls.at(-1)).toEqual({ at: DAYS * DAY_MS, target: 'month', ids: ['m-1'] });
    // A few more than days; each may be repeated while the stepped clock is not there yet, for the
    // rest of it. Looks of an hour would be 24 times as many.
    const waits = await timers('second');
    const looks = waits.filter((ms) => ms >= 30 * 60_000);
    if (looks.length > 4 * DAYS) throw new Error(`${looks.length} looks in ${DAYS} days: ${waits.join(' ')} ms`);
  });

  test('notBefore in 30 days is skipped to as well [G1]', async () => {
    await muster.client.submit('pairs', { id: 'n-0', payload: { to: 'month' }, notBefore: muster.unixMs(30 * DAY_MS) });
    await muster.skipTo(31 * DAY_MS);
    expect(pairs.calls).toEqual([{ at: 30 * DAY_MS + 100, target: 'month', ids: ['n-0'] }]);
    await expectOneWait('pairs', 30 * DAY_MS, 100);
  });
});
