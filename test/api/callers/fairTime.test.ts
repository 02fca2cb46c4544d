import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallerKey } from '../../../workers/api/callers/fairTime';
import { FairTime } from '../../../workers/api/callers/fairTime';
import { Load } from '../../../workers/api/callers/load';
import { eventually } from '../../helpers/eventually';

/** How the time of the API's thread is shared, by a clock of its own and without a server. */

const SHARE = 0.02;
const MOST_HELD = 40;

interface Seen {
  /** Null: it waits. */
  ended: 'begun' | 'refused' | 'over' | null;
  /** Its caller is gone. */
  isOver: boolean;
}

const asked: { seen: Seen; fair: FairTime }[] = [];
/** What still waits would be looked at for as long as this process lives: its clock stands. */
afterEach(async () => {
  for (const { seen } of asked) seen.isOver = true;
  await eventually(() => asked.every(({ fair }) => fair.held.requests === 0));
  asked.splice(0);
});

/** A thread that is as busy as a test says. */
const thread = (waitsBeside: (key: CallerKey) => boolean = () => false) => {
  let now = 0;
  let slowness = 1;
  const loop = { active: 0, idle: 0, computed: 0 };
  const fair = new FairTime(
    { refusedShare: SHARE, maxRequests: MOST_HELD },
    { waitsBeside },
    () => now,
    new Load(
      () => now,
      () => ({ ...loop }),
    ),
  );
  const compute = (ms: number): void => {
    now += ms;
    loop.active += ms;
    loop.computed += ms / slowness;
  };
  /** Asks for one request, which computes and ends as soon as it begins. */
  const ask = (key: CallerKey, ms: number, isRefused = false, begun = (): void => undefined): Seen => {
    const seen: Seen = { ended: null, isOver: false };
    asked.push({ seen, fair });
    fair.enter(key, { isOver: () => seen.isOver, waits: false }).then(
      (stint) => {
        if (stint === null) return void (seen.ended = 'over');
        begun();
        stint.during(() => compute(ms));
        stint.end(isRefused);
        seen.ended = 'begun';
      },
      () => (seen.ended = 'refused'),
    );
    return seen;
  };
  /** Passes time, of which others computed a part, while each of these callers asks. */
  const pass = async (ms: number, busy: number, callers: readonly CallerKey[] = []): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      for (const key of callers) ask(key, 0);
      compute(100 * busy);
      now += 100 * (1 - busy);
      loop.idle += 100 * (1 - busy);
      for (let turn = 0; turn < 3; turn++) await nextTurn();
    }
  };
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  };
  return { fair, ask, pass, compute, settled, slow: (times: number) => void (slowness = times) };
};

test('one large body that is refused holds its token back, and its next requests are answered', async () => {
  const { ask, pass } = thread();
  await pass(2_000, 1, [1, 2]);
  ask(1, 600, true);
  await pass(200, 1, [1, 2]);
  const next = ask(1, 0);
  await pass(2_000, 1, [1, 2]);
  expect(next.ended).toBeNull();
  await pass(2_500, 1, [1, 2]);
  expect(next.ended).toBe('begun');
});

test('of a request that is refused, only what was measured is to be paid', async () => {
  const { ask, pass, settled } = thread();
  await pass(2_000, 1, [1, 2]);
  ask(1, 90, true);
  await settled();
  const next = ask(1, 0);
  await settled();
  expect(next.ended).toBe('begun');
});

test.each([
  [0.2, 800, 'begun'],
  [0.6, 200, null],
  [0.4, 1_000, null],
  [0.4, 2_500, 'begun'],
  [0.8, 1_000, null],
])('on a thread busy for %d of the time, who was refused much may ask after %i ms: %s', async (busy, ms, ended) => {
  const { ask, pass, settled } = thread();
  await pass(3_000, busy, [1, 2]);
  ask(1, 150, true);
  await pass(ms, busy, [2]);
  const next = ask(1, 0);
  await settled();
  expect(next.ended).toBe(ended);
});

test('time of the thread that no request took is counted to no caller', async () => {
  const { ask, pass, settled } = thread();
  // In each 100 ms, three requests that take nothing beside one that takes 2 ms: 1.5 and 2.5 ms.
  for (let n = 0; n < 20; n++) {
    ask(2, 2);
    await pass(100, 1, [1, 1, 1]);
  }
  const order: number[] = [];
  for (const key of [3, 2, 1]) for (let n = 0; n < 12; n++) ask(key, 0, false, () => order.push(key));
  await settled();
  expect(order.lastIndexOf(1)).toBeLessThan(order.lastIndexOf(2));
});

test('of requests that wait, those are not begun whose caller is gone', async () => {
  const { ask, pass, settled, fair } = thread();
  await pass(3_000, 1, [1, 2]);
  ask(1, 150, true);
  await pass(200, 1, [2]);
  const waiting = [1, 2, 3, 4].map(() => ask(1, 0));
  for (const at of [0, 2, 3]) waiting[at]!.isOver = true;
  await pass(4_500, 1, [2]);
  await settled();
  expect(waiting.map(({ ended }) => ended)).toEqual(['over', 'begun', 'over', 'over']);
  expect(fair.held).toEqual({ requests: 0, refused: 0 });
});

test('what begins in a turn of the loop is bounded, however many callers ask in it', async () => {
  const { ask, settled } = thread();
  const asked = Array.from({ length: 100 * 8 }, (_, n) => ask(n % 100, 0));
  await Promise.resolve().then(() => undefined);
  expect(asked.filter(({ ended }) => ended === 'begun').length).toBeLessThan(30);
  for (let n = 0; n < 20; n++) await settled();
  expect(asked.filter(({ ended }) => ended !== 'begun')).toEqual([]);
});

test.each([
  [1, 'begun'],
  [2, null],
])('a token that alone calls while token %d has streams open, and was refused much: %s', async (streams, ended) => {
  const { ask, pass, settled } = thread((key) => key !== streams);
  await pass(3_000, 1, [1]);
  ask(1, 150, true);
  await pass(200, 1);
  const next = ask(1, 0);
  await settled();
  expect(next.ended).toBe(ended);
});

test.each([
  ['a token', 1, null, 'begun'],
  ['a caller without one', null, 1, null],
])('%s that was refused much, beside requests of caller %s: %s', async (_, key, other, ended) => {
  const { ask, pass, settled } = thread();
  await pass(3_000, 1, [key, other]);
  ask(key, 150, true);
  await pass(200, 1, [other]);
  const next = ask(key, 0);
  await settled();
  expect(next.ended).toBe(ended);
});

test('once all that wait are over, as when the process stops, none waits any more', async () => {
  const { ask, pass, settled, fair } = thread();
  await pass(3_000, 1, [1, 2]);
  ask(1, 150, true);
  await pass(200, 1, [2]);
  const waiting = [1, 2, 3, 4].map(() => ask(1, 0));
  await settled();
  for (const one of waiting) one.isOver = true;
  await pass(100, 1, [2]);
  expect(waiting.map(({ ended }) => ended)).toEqual(waiting.map(() => 'over'));
  expect(fair.held.requests).toBe(0);
});

test('what waits while the thread stands still is begun, not given up', async () => {
  const { ask, pass, compute, settled } = thread();
  await pass(3_000, 1, [1, 2]);
  ask(1, 150, true);
  await pass(200, 1, [2]);
  const waiting = Array.from({ length: MOST_HELD }, () => ask(1, 0));
  compute(6_000);
  for (let n = 0; n < 20; n++) await settled();
  expect(waiting.map(({ ended }) => ended)).toEqual(waiting.map(() => 'begun'));
});

test('no debt is expected of long polls, which would last as long as they', async () => {
  const { ask, pass, settled, fair } = thread();
  await pass(3_000, 1, [1, 2]);
  for (let n = 0; n < 5; n++) {
    ask(1, 80, true);
    await pass(5_000, 1, [2]);
  }
  const polls = [1, 2, 3, 4].map(() => fair.enter(1, { isOver: () => false, waits: true }));
  await settled();
  expect((await Promise.all(polls)).every((stint) => stint !== null)).toBe(true);
  await pass(100, 1, [2]);
  const read = ask(1, 0);
  await settled();
  expect(read.ended).toBe('begun');
});

test('a request that owes less than was expected lets the next one of its caller begin at once', async () => {
  const { ask, pass, settled, fair } = thread();
  await pass(3_000, 1, [1, 2]);
  for (let n = 0; n < 5; n++) {
    ask(1, 200, true);
    await pass(5_000, 1, [2]);
  }
  const first = (await fair.enter(1, { isOver: () => false, waits: false }))!;
  const second = ask(1, 0);
  await settled();
  expect(second.ended).toBeNull();
  first.end(false);
  await settled();
  expect(second.ended).toBe('begun');
});

test('no more of one caller wait than may be at work; the others are refused at once', async () => {
  const { ask, pass, settled, fair } = thread();
  await pass(3_000, 1, [1, 2]);
  ask(1, 150, true);
  await pass(200, 1, [2]);
  const asked = Array.from({ length: MOST_HELD + 2 }, () => ask(1, 0));
  const other = ask(2, 0);
  await settled();
  expect(asked.map(({ ended }) => ended)).toEqual([...asked.slice(2).map(() => null), 'refused', 'refused']);
  expect([other.ended, fair.held]).toEqual(['begun', { requests: MOST_HELD, refused: 2 }]);
});

test('a debt is not forgotten, however many others call', async () => {
  const { ask, pass, settled } = thread();
  await pass(3_000, 1, [1, 2]);
  ask(1, 600, true);
  await pass(2_200, 1, [2]);
  for (let key = 3; key < 1_200; key++) {
    ask(key, 0);
    await settled();
  }
  const next = ask(1, 0);
  await settled();
  expect(next.ended).toBeNull();
});

test('who waits for five seconds behind refusals of its own is refused', async () => {
  const { ask, pass, fair } = thread();
  await pass(3_000, 1, [1, 2]);
  const asked = Array.from({ length: 20 }, () => ask(1, 80, true));
  await pass(3_000, 1, [2]);
  expect(asked.at(-1)!.ended).toBeNull();
  await pass(2_500, 1, [2]);
  expect([asked[0]!.ended, asked.at(-1)!.ended]).toEqual(['begun', 'refused']);
  expect(fair.held.requests).toBe(0);
});

test('what never waits is counted to its caller', async () => {
  const { fair, ask, pass, compute, settled } = thread();
  await pass(3_000, 1, [1, 2]);
  for (let n = 0; n < 2; n++) {
    const stint = fair.enterAtOnce(1);
    stint.during(() => compute(80));
    stint.end(true);
  }
  await pass(200, 1, [2]);
  const next = ask(1, 0);
  await settled();
  expect(next.ended).toBeNull();
});

test('a refusal is counted as longer where other programs take the processor', async () => {
  const { ask, pass, settled, slow } = thread();
  slow(5);
  await pass(3_000, 1, [1, 2]);
  for (let n = 0; n < 7; n++) {
    for (let one = 0; one < 8; one++) ask(1, 0, true);
    await settled();
  }
  const next = ask(1, 0);
  await settled();
  // 56 of 2.5 ms each are 140; of 0.5 ms, 28.
  expect(next.ended).toBeNull();
});
