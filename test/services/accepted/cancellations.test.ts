import pino from 'pino';
import { Cancellations } from '../../../activities/accepted/cancellations';
import { defineHandler } from '../../../handlers';
import type { Handler } from '../../../handlers';
import { cancelAgainMs } from '../../../workflows/planning/calls/cancellation';
import { SteppedClock } from '../../helpers/clock';
import type { Bench } from '../../workflows/bench';
import { carry, openBench } from '../../workflows/bench';

/** When a downstream is asked again to stop a batch: on a clock that the test moves. */

const TIMEOUT_MS = 30_000;
const asked: string[] = [];
/** What goes on while the downstream is asked. */
let meanwhile: () => Promise<unknown>;
const jobs: Handler = defineHandler<{ to: string }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 1 },
  linger: { lingerMs: 0 },
  leaders: 1,
  timeoutMs: TIMEOUT_MS,
  submit: async ({ target }) => ({ status: 'accepted', reference: target }),
  status: async (references) => references.map((reference) => ({ reference, status: 'pending' })),
  results: () => [],
  cancel: async (reference) => {
    asked.push(reference);
    await meanwhile();
  },
});

let bench: Bench;
let clock: SteppedClock;
beforeEach(async () => {
  asked.splice(0);
  meanwhile = () => Promise.resolve();
  bench = await openBench([jobs]);
  const { pool } = bench.database;
  await bench.client.submit('jobs', [{ id: 'a', payload: { to: 'a' } }]);
  await bench.client['connection'].settled();
  await carry(await bench.dispatch(await bench.turn({ runId: 'run', runStartedAtMs: 1_000 }, 1), jobs));
  clock = await SteppedClock.create(pool);
  const given = await pool.query(`
    insert into cancellation (batch_id, handler_id, reference, why, next_at, requested_at)
    select b.id, t.handler_id, b.reference, 0, clock(), clock()
    from batch b join target t on t.id = b.target_id
    where b.reference is not null`);
  expect(given.rowCount).toBe(1);
});
afterEach(() => bench.stop());

/** A look of one process: in how many ms the next call is due. */
const look = (signal = new AbortController().signal): Promise<number | null> => {
  const log = pino({ level: 'silent' });
  const deps = { pool: bench.database.pool, sealer: null, draining: new AbortController().signal, log };
  const cancellations = new Cancellations(deps, jobs, signal);
  const dueInMs = cancellations.run();
  cancellations.end();
  return dueInMs;
};
const stored = async (): Promise<unknown[]> =>
  (await bench.database.pool.query('select state, tries, error from cancellation')).rows;

test('while the downstream is asked, for as long as its answer may take, no other process asks it', async () => {
  const others: (number | null)[] = [];
  meanwhile = async () => others.push(await look());
  expect(await look()).toBeNull();
  expect(asked).toEqual(['a']);
  expect(others).toHaveLength(1);
  expect(others[0]).toBeGreaterThan(TIMEOUT_MS);
  expect(await stored()).toEqual([{ state: 1, tries: 1, error: null }]);
});

test('without an answer it is asked again, each time later, and the reason is kept', async () => {
  meanwhile = () => Promise.reject(new Error('connection reset'));
  const error = expect.stringContaining('connection reset') as string;
  expect(await look()).toBe(cancelAgainMs(1));
  expect(await stored()).toEqual([{ state: 0, tries: 1, error }]);
  await clock.set((await clock.unixMs()) + cancelAgainMs(1) - 1);
  expect(await look()).toBe(1);
  expect(asked).toHaveLength(1);
  await clock.set((await clock.unixMs()) + 1);
  expect(await look()).toBe(cancelAgainMs(2));
  expect(await stored()).toEqual([{ state: 0, tries: 2, error }]);
});

test('a process that stops before the answer leaves the call to the next one at once', async () => {
  const stopping = new AbortController();
  meanwhile = () => {
    stopping.abort();
    return Promise.reject(new Error('it stops'));
  };
  expect(await look(stopping.signal)).toBe(0);
  meanwhile = () => Promise.resolve();
  expect(await look()).toBeNull();
  expect(await stored()).toEqual([{ state: 1, tries: 2, error: null }]);
});
