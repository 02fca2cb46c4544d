import { awaitBriefly } from '../../activities/grouping/ring';
import type { RingDeps } from '../../activities/grouping/ring';
import { Behind } from '../../workflows/behind';

/**
 * How long a caller waits for a wake that has no end, on a clock of the test: what is promised to
 * those who submit, and to a turn or settlement that made work.
 */

let nowMs: number;
let timers: { atMs: number; fire: () => void }[];
beforeEach(() => {
  [nowMs, timers] = [0, []];
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(((fire: () => void, ms: number) => {
    const timer = { atMs: nowMs + ms, fire, unref: () => timer };
    timers.push(timer);
    return timer;
  }) as never);
  jest.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    timers = timers.filter((one) => (one as unknown) !== timer);
  });
});
afterEach(() => jest.restoreAllMocks());

/** All that follows without a timer happens. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const later = async (ms: number): Promise<void> => {
  const untilMs = nowMs + ms;
  for (;;) {
    const due = timers.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
    if (due === undefined) break;
    timers.splice(timers.indexOf(due), 1);
    nowMs = due.atMs;
    due.fire();
    await settle();
  }
  nowMs = untilMs;
};
/** Returns how long it took; null: it has not resolved within a minute. */
const timed = async (work: Promise<unknown>): Promise<number | null> => {
  const begunMs = nowMs;
  let endedMs: number | null = null;
  void work.then(() => (endedMs = nowMs - begunMs));
  await settle();
  while (endedMs === null && nowMs - begunMs < 60_000) await later(50);
  return endedMs;
};
const endless = (): Promise<never> => new Promise(() => undefined);

describe('behind a commit', () => {
  let failures: Error[];
  let behind: Behind;
  beforeEach(() => {
    failures = [];
    behind = new Behind(
      () => Promise.resolve({} as never),
      (error) => failures.push(error),
    );
  });

  test('a wake without an answer is awaited for 500 ms, the next ones not at all, one after 5 s again', async () => {
    expect(await timed(behind.wake(endless))).toBe(500);
    for (let i = 0; i < 3; i++) expect(await timed(behind.wake(endless))).toBe(0);
    await later(4_900);
    expect(await timed(behind.wake(endless))).toBe(0);
    await later(200);
    expect(await timed(behind.wake(endless))).toBe(500);
    expect(failures).toEqual([]);
  });

  test('a connection that is not to be had is awaited for no longer', async () => {
    behind = new Behind(endless, (error) => failures.push(error));
    expect(await timed(behind.wake(() => Promise.resolve(null)))).toBe(500);
    expect(await timed(behind.wake(() => Promise.resolve(null)))).toBe(0);
  });

  test('a wake that fails is told, and none is awaited for 5 s', async () => {
    expect(await timed(behind.wake(() => Promise.resolve(new Error('refused'))))).toBe(0);
    expect(failures).toEqual([new Error('refused')]);
    expect(await timed(behind.wake(endless))).toBe(0);
    await later(5_100);
    expect(await timed(behind.wake(endless))).toBe(500);
  });

  test('a wake that arrives is awaited, and the next one, too', async () => {
    const slow = (): Promise<null> => new Promise((resolve) => setTimeout(() => resolve(null), 300));
    for (let i = 0; i < 2; i++) expect(await timed(behind.wake(slow))).toBe(300);
  });
});

describe('the wake of a turn or settlement', () => {
  const told: string[] = [];
  const deps = { log: { warn: (_: object, message: string) => told.push(message) } } as unknown as RingDeps;

  test('that has no end is awaited for a second', async () => {
    expect(await timed(awaitBriefly(deps, endless(), 'lost'))).toBe(1_000);
    expect(told).toEqual([]);
  });

  test('that fails after that is told all the same', async () => {
    const late = new Promise<Error>((resolve) => setTimeout(() => resolve(new Error('late')), 3_000));
    expect(await timed(awaitBriefly(deps, late, 'a wake failed'))).toBe(1_000);
    await later(3_000);
    expect(told).toEqual(['a wake failed; the sweeper will repeat it']);
  });
});
