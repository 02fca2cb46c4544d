import fc from 'fast-check';
import { Admission, DEFAULT_LIMITS, limitsOf, mayTake } from '../../../workers/api/limits';
import type { Account } from '../../../workers/api/callers/accounts';
import {
  BURST_MS,
  HELD_MS,
  PAYABLE_MS,
  begun,
  ended,
  mayAsk,
  mostOwed,
  newAccount,
  nextOf,
  owedAt,
} from '../../../workers/api/callers/accounts';
import { spread } from '../../../workers/api/callers/looks';
import { Load } from '../../../workers/api/callers/load';

/** The rules by which the time of the API's thread is shared, without a clock. */

const SHARE = 0.02;

/** Serves one request after another of callers who always have one waiting. */
const serve = (costs: readonly number[], untilMs: number): { accounts: Account[]; took: number[] } => {
  const accounts = costs.map(() => newAccount(0, 0));
  const took = costs.map(() => 0);
  for (let now = 0; now < untilMs;) {
    const at = accounts.indexOf(nextOf(accounts, (one) => mayAsk(one, now, SHARE))!);
    const account = accounts[at]!;
    const { meanMs, meanOwed, due } = account;
    const tookMs = costs[at]!;
    now += tookMs;
    took[at]! += tookMs;
    const running = begun(account, now, SHARE, due);
    accounts[at] = ended(running, { meanMs, meanOwed }, { tookMs, owes: 0, now, share: SHARE });
  }
  return { accounts, took };
};

test('callers who always ask get equal time, whatever each of their requests takes', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 6 }), (costs) => {
      const { took } = serve(costs, 20_000);
      // A request is never divided.
      expect(Math.max(...took) - Math.min(...took)).toBeLessThanOrEqual(4 * Math.max(...costs));
    }),
  );
});

test('refusals take no more than their burst, their share of the time and one request', () => {
  const requests = fc.array(
    fc.record({ tookMs: fc.integer({ min: 1, max: PAYABLE_MS * SHARE }), pauseMs: fc.integer({ max: 50, min: 0 }) }),
    {
      minLength: 50,
      maxLength: 300,
    },
  );
  fc.assert(
    fc.property(requests, (all) => {
      let account = newAccount(0, 0);
      let now = 0;
      let took = 0;
      let longest = 0;
      for (const { tookMs, pauseMs } of all) {
        now += pauseMs;
        while (!mayAsk(account, now, SHARE)) now += 25;
        const { meanMs, meanOwed } = account;
        account = begun(account, now, SHARE, 0);
        account = ended(account, { meanMs, meanOwed }, { tookMs, owes: tookMs, now, share: SHARE });
        took += tookMs;
        longest = Math.max(longest, tookMs);
        // What was expected of a request and not taken is given back.
        expect(took).toBeLessThanOrEqual(BURST_MS + now * SHARE + 2 * longest);
      }
    }),
  );
});

test.each([
  ['nothing is owed', 0, 0, true],
  ['the burst is owed', BURST_MS, 0, true],
  ['more is owed', BURST_MS + 1, 0, false],
  ['the rest was paid meanwhile', BURST_MS + 1, 50, true],
  ['the most is owed', 9_999, PAYABLE_MS - 100, false],
  ['the most was owed, and was paid before a request is given up', 9_999, HELD_MS - 900, true],
])('%s: whether the next request may be read', (_, owed, passedMs, may) => {
  const account = { ...newAccount(0, 1_000), owed };
  expect(mayAsk(account, 1_000 + passedMs, SHARE)).toBe(may);
  expect(owedAt(account, 1_000 + passedMs, 1)).toBeLessThanOrEqual(owed);
});

test('requests that began together are expected to be refused like those before them', () => {
  let account = newAccount(0, 0);
  for (let n = 0; n < 20; n++)
    account = ended(account, { meanMs: 0, meanOwed: 0 }, { tookMs: 60, owes: 60, now: n * 60_000, share: SHARE });
  account = { ...account, owed: 0 };
  let together = 0;
  for (; mayAsk(account, account.since, SHARE); together++) account = begun(account, account.since, SHARE, 0);
  expect(together).toBe(2);
});

test('what one refusal takes above what can be paid while a request waits is forgiven', () => {
  const took = { tookMs: 60_000, owes: 60_000, now: 0, share: SHARE };
  const account = ended(newAccount(0, 0), { meanMs: 0, meanOwed: 0 }, took);
  expect(owedAt(account, 0, SHARE)).toBe(mostOwed(SHARE));
});

test('who took nothing for a while has saved up nothing', () => {
  const late = begun({ ...newAccount(0, 0), meanMs: 5 }, 10, SHARE, 1_000);
  expect(late.due).toBe(1_005);
});

test('each caller leaves a place for the next one, however many there are', () => {
  const taken: number[] = [];
  const sum = (): number => taken.reduce((a, b) => a + b, 0);
  for (let caller = 0; caller < 5; caller++) {
    let own = 0;
    while (mayTake(1, { own, taken: sum() + own, most: 128, all: 256 })) own++;
    taken.push(own);
  }
  expect(taken).toEqual([128, 64, 32, 16, 8]);
});

test.each([
  ['half of an odd number', 5, 5, 6, 11, true],
  ['no more than half of it', 6, 6, 6, 11, false],
  ['all, where one may have all', 10, 10, 11, 11, true],
  ['no more than all', 11, 11, 11, 11, false],
])('a caller alone may have %s', (_, own, taken, most, all, may) => {
  expect(mayTake(1, { own, taken, most, all })).toBe(may);
});

test.each([
  [8, 256, 31],
  [1, 256, 255],
  [3, 12, 3],
])('where each may have %i of %i places, so many callers have all of theirs: %i', (most, all, callers) => {
  let taken = 0;
  for (let caller = 0; caller < callers; caller++)
    for (let own = 0; own < most; own++, taken++)
      expect({ caller, own, may: mayTake(1, { own, taken, most, all }) }).toEqual({ caller, own, may: true });
  expect(mayTake(1, { own: most, taken, most, all })).toBe(false);
});

test('others have streams open where a caller has none, or fewer than there are', () => {
  const admission = new Admission(DEFAULT_LIMITS);
  const beside = (): boolean[] => [1, 2, null].map((caller) => admission.waitsBeside(caller));
  const asked = { waits: true, bodyBytes: 0 };
  const open = (caller: number) => {
    const ticket = admission.enter(asked);
    admission.share(ticket, caller, asked);
    return ticket;
  };
  expect(beside()).toEqual([false, false, false]);
  const first = open(1);
  expect(beside()).toEqual([false, true, true]);
  const second = open(2);
  expect(beside()).toEqual([true, true, true]);
  first.closed();
  expect(beside()).toEqual([true, false, true]);
  second.closed();
  expect(beside()).toEqual([false, false, false]);
});

test('no more requests wait for a look at who calls than may be at work', async () => {
  const admission = new Admission(limitsOf({ maxRequests: 2 }));
  let answer = (): void => undefined;
  const looked = new Promise<void>((resolve) => (answer = resolve));
  const looks = [1, 2].map(() => admission.whileAsked(() => looked));
  expect(admission.open.requests).toBe(2);
  await expect(admission.whileAsked(() => looked)).rejects.toMatchObject({ status: 503 });
  answer();
  await Promise.all(looks);
  await admission.whileAsked(() => looked);
  expect([admission.open.requests, admission.refused.busy]).toEqual([0, 1]);
});

test('a request without a body needs no place for one', () => {
  expect(mayTake(0, { own: 9, taken: 99, most: 1, all: 99 })).toBe(true);
});

test.each([
  [500, 1, Infinity, 500],
  [500, 10, Infinity, 500],
  [500, 30, Infinity, 1_500],
  [500, 30, 700, 700],
  [500, 250, Infinity, 2_000],
  [3_000, 250, Infinity, 3_000],
  [3_000, 250, 200, 200],
])(
  'a look wanted in %i ms, beside %i of its caller who waits for %d ms more, is taken in %i ms',
  (ms, open, mostMs, inMs) => {
    expect(spread(ms, open, mostMs)).toBe(inMs);
  },
);

/** Each 100 ms of a thread, of which it was active so long and computed so long. */
const busyAfter = (times: number, activeMs: number, computedMs: number): number => {
  let now = 0;
  const loop = { active: 0, idle: 0, computed: 0 };
  const load = new Load(
    () => now,
    () => ({ ...loop }),
  );
  let busy = load.utilization;
  for (let n = 0; n < times; n++) {
    now += 100;
    loop.active += activeMs;
    loop.idle += 100 - activeMs;
    loop.computed += computedMs;
    busy = load.utilization;
  }
  return busy;
};

test.each([
  ['half a second of work', 5, 100, 100, 0.83],
  ['work for half of the time', 20, 50, 50, 0.5],
  ['work that other programs stretch to all of the time', 20, 100, 12, 1],
  ['other programs, and hardly any work', 20, 100, 2, 0.2],
  ['work of other threads of this process', 20, 10, 150, 0.1],
])('how busy the thread is after %s', (_, times, activeMs, computedMs, busy) => {
  expect(busyAfter(times, activeMs, computedMs)).toBeCloseTo(busy, 1);
});
