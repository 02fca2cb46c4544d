import { TASK_STATES } from '../../workflows/planning/states';
import type { Skipping } from '../helpers/skippingMuster';
import { startSkipping } from '../helpers/timeSkipping';
import { operate } from './operate';
import { allOk, scripted } from './scripted';
import type { Scripted } from './scripted';

/**
 * Waits other than the linger: backoff, back pressure, pauses. Long ones throughout, for the
 * skipping server's sake (linger.test.ts says why).
 */
const MINUTE = 60_000;
let muster: Skipping;
const now = (): Promise<number> => muster.now();
const base = {
  linger: { lingerMs: 0 },
  retry: { inPlace: { times: 0 }, delayed: { baseMs: MINUTE, maxMs: 3 * MINUTE }, maxAttempts: 4 },
};
const retried = scripted('retried', now, base);
const resent = scripted('resent', now, { ...base, idempotency: { by: 'batch' } });
const pressed = scripted('pressed', now, base);
const paused = scripted('paused', now, { linger: { lingerMs: 10 * MINUTE }, limits: { maxItems: 2 } });
const ranked = scripted('ranked', now, {
  linger: { lingerMs: MINUTE },
  limits: { maxItems: 2 },
  concurrency: { perTarget: 1 },
});
const halved = scripted('halved', now, base);
const all: Scripted[] = [retried, resent, pressed, paused, ranked, halved];

beforeAll(async () => {
  muster = await startSkipping(all.map((each) => each.handler));
});
afterAll(() => muster.stop());
beforeEach(async () => {
  for (const { calls, answers } of all) {
    calls.splice(0);
    answers.splice(0);
  }
  await muster.begin();
});

const submit = (handler: string, to: string, ...ids: string[]): Promise<unknown> =>
  muster.client.submit(
    handler,
    ids.map((id) => ({ id, payload: { to } })),
  );
const stateOf = async (id: string): Promise<{ state: number; attempts: number }> => {
  const { rows } = await muster.database.pool.query<{ state: number; attempts: number }>(
    'select state, attempts from task_state where id = $1',
    [id],
  );
  return rows[0]!;
};
const timesOf = ({ calls }: Scripted): [number, string][] => calls.map(({ at, ids }) => [at, ids.join(' ')]);

describe('backoff', () => {
  test('a task that asks for a retry waits 1, 2, 3 minutes (the most), then is dead [A16 G2]', async () => {
    const oneAgain: Scripted['answers'][number] = (batch) => ({
      results: batch.tasks.map(({ id }) => ({ id, status: id === 'r-0' ? 'retry' : 'ok', error: 'not yet' })),
    });
    retried.answers.push(oneAgain, oneAgain, oneAgain, oneAgain, oneAgain);
    await submit('retried', 'se', 'r-0', 'r-1');
    await muster.skipTo(MINUTE);
    await submit('retried', 'se', 'r-2'); // joins nothing: the retry went in the same instant, but before it
    await muster.skipTo(60 * MINUTE);
    expect(
      timesOf(retried)
        .filter(([, ids]) => ids.includes('r-0'))
        .map(([at]) => at),
    ).toEqual([0, MINUTE, 3 * MINUTE, 6 * MINUTE]);
    expect(await stateOf('r-0')).toEqual({ state: TASK_STATES.dead, attempts: 4 });
    expect(await stateOf('r-1')).toEqual({ state: TASK_STATES.succeeded, attempts: 1 });
    expect(await stateOf('r-2')).toMatchObject({ state: TASK_STATES.succeeded });
  });

  test('the downstream may ask for a longer wait than the backoff [A16]', async () => {
    retried.answers.push(() => ({ results: [{ id: 'r-3', status: 'retry', retryAfterMs: 5 * MINUTE }] }));
    await submit('retried', 'no', 'r-3');
    await muster.skipTo(60 * MINUTE);
    expect(timesOf(retried)).toEqual([
      [0, 'r-3'],
      [5 * MINUTE, 'r-3'],
    ]);
  });

  test('an unknown outcome is sent again, the same batch with the same key, after 1, 2, 3 minutes; then it is parked [H3 G2]', async () => {
    const lost = (): never => {
      throw new Error('socket hang up');
    };
    resent.answers.push(lost, lost, lost, lost);
    await submit('resent', 'se', 'u-0', 'u-1');
    await muster.skipTo(60 * MINUTE);
    expect(timesOf(resent)).toEqual([0, MINUTE, 3 * MINUTE, 6 * MINUTE].map((at) => [at, 'u-0 u-1']));
    expect(await stateOf('u-0')).toEqual({ state: TASK_STATES.unknown, attempts: 4 });
  });
});

describe('back pressure', () => {
  const later =
    (scope: 'target' | 'handler'): Scripted['answers'][number] =>
    () => ({ status: 'later', retryAfterMs: 7_000, scope });

  test('429 with Retry-After 7 s: nothing for that target for 7 s, the same batch then; other targets go on [H5 A18]', async () => {
    pressed.answers.push(later('target'));
    await submit('pressed', 'held', 'b-0', 'b-1');
    await muster.skipTo(1_000);
    await submit('pressed', 'held', 'b-2');
    await submit('pressed', 'free', 'b-3');
    await muster.skipTo(6_900);
    expect(timesOf(pressed)).toEqual([
      [0, 'b-0 b-1'],
      [1_000, 'b-3'],
    ]);
    await muster.skipTo(60 * MINUTE);
    expect(timesOf(pressed).slice(2)).toEqual([
      [7_000, 'b-0 b-1'],
      [7_000, 'b-2'],
    ]);
    expect(await stateOf('b-0')).toEqual({ state: TASK_STATES.succeeded, attempts: 1 });
  });

  test('with scope handler all its targets wait [H5]', async () => {
    pressed.answers.push(later('handler'));
    await submit('pressed', 'one', 'b-4');
    await muster.skipTo(1_000);
    await submit('pressed', 'two', 'b-5');
    await submit('pressed', 'one', 'b-6');
    await muster.skipTo(6_900);
    expect(timesOf(pressed)).toEqual([[0, 'b-4']]);
    await muster.skipTo(60 * MINUTE);
    expect(timesOf(pressed).slice(1).sort()).toEqual([
      [7_000, 'b-4'],
      [7_000, 'b-5'],
      [7_000, 'b-6'],
    ]);
  });

  test('without Retry-After the waits grow from the backoff, with full jitter, and cost no attempt [H5]', async () => {
    const refuse: Scripted['answers'][number] = () => ({ status: 'later' });
    pressed.answers.push(refuse, refuse, refuse, refuse, refuse, refuse);
    // Nearly the longest that each may be: what has no jitter, or does not grow, is seen.
    const random = jest.spyOn(Math, 'random').mockReturnValue(0.99);
    await submit('pressed', 'grows', 'b-7');
    await muster.skipTo(60 * MINUTE).finally(() => random.mockRestore());
    const at = pressed.calls.map((call) => call.at);
    expect(at).toHaveLength(7);
    const waits = at.slice(1).map((each, i) => each - at[i]!);
    expect(waits).toEqual([1, 2, 3, 3, 3, 3].map((minutes) => Math.floor(0.99 * (minutes * MINUTE + 1))));
    expect(await stateOf('b-7')).toEqual({ state: TASK_STATES.succeeded, attempts: 1 });
  });
});

describe('pause', () => {
  test('A paused target waits without a run; resumed, what is due goes at once', async () => {
    const { pauseTarget, resumeTarget } = operate(muster.database.pool, muster.client);
    await submit('paused', 'held', 'w-0');
    await muster.skipTo(MINUTE);
    await pauseTarget('paused', 'held');
    await submit('paused', 'free', 'w-1');
    await muster.skipTo(600 * MINUTE);
    expect(timesOf(paused)).toEqual([[11 * MINUTE, 'w-1']]);
    expect((await muster.history('paused', '0')).at(-1)!.workflowExecutionCompletedEventAttributes).toBeTruthy();
    await resumeTarget('paused', 'held');
    await muster.settle();
    expect(timesOf(paused)[1]).toEqual([600 * MINUTE, 'w-0']);
  });

  test('A paused handler sends nothing; resumed, what lingers keeps its linger', async () => {
    const { pause, resume } = operate(muster.database.pool, muster.client);
    await pause('paused');
    await submit('paused', 'a', 'w-2', 'w-3');
    await submit('paused', 'b', 'w-4');
    await muster.skipTo(5 * MINUTE);
    expect(paused.calls).toEqual([]);
    await resume('paused');
    await muster.skipTo(60 * MINUTE);
    expect(timesOf(paused)).toEqual([
      [5 * MINUTE, 'w-2 w-3'],
      [10 * MINUTE, 'w-4'],
    ]);
  });
});

test('lower priorities first, arrival order within one; a batch closes by its oldest task, whatever its priority [G1]', async () => {
  const { pauseTarget, resumeTarget } = operate(muster.database.pool, muster.client);
  await submit('ranked', 'r', 'x-0');
  await muster.settle();
  await pauseTarget('ranked', 'r');
  const payload = { to: 'r' };
  await muster.client.submit('ranked', [
    { id: 'x-1', payload, priority: 5 },
    { id: 'x-2', payload, priority: -5 },
    { id: 'x-3', payload },
    { id: 'x-4', payload, priority: -5 },
  ]);
  await muster.skipTo(30_000);
  await resumeTarget('ranked', 'r');
  await muster.skipTo(10 * MINUTE);
  expect(timesOf(ranked)).toEqual([
    [30_000, 'x-2 x-4'],
    [30_000, 'x-0 x-3'],
    [MINUTE, 'x-1'],
  ]);
});

test('a poison task of eight is alone after 2 * 3 extra calls, all in one instant [G3]', async () => {
  const poisoned: Scripted['answers'][number] = (batch) =>
    batch.tasks.some(({ id }) => id === 'h-5') ? { status: 'rejected', error: 'mapping' } : allOk(batch);
  halved.answers.push(...Array.from({ length: 20 }, () => poisoned));
  await submit('halved', 'se', ...Array.from({ length: 8 }, (_, i) => `h-${i}`));
  await muster.settle();
  expect(new Set(halved.calls.map((call) => call.at))).toEqual(new Set([0]));
  expect(halved.calls.length).toBeLessThanOrEqual(1 + 2 * 3);
  expect(await stateOf('h-5')).toMatchObject({ state: TASK_STATES.failed });
  for (const i of [0, 1, 2, 3, 4, 6, 7])
    expect(await stateOf(`h-${i}`)).toMatchObject({ state: TASK_STATES.succeeded });
});
