import { concludeEarlier, prepare } from '../../activities/calls/attempt';
import type { CallerDeps } from '../../activities/calls/carried';
import type { CallEnd } from '../../activities/calls/door';
import { settle } from '../../activities/calls/settle';
import { defineHandler } from '../../handlers';
import { readDispatch } from '../../postgres/calls/batch';
import { eventually } from '../helpers/eventually';
import type { Bench, Run } from '../workflows/bench';
import { openBench } from '../workflows/bench';

/** The age of a batch's last call, where the process that made it died. */

/** Its look-up finds nothing, and is believed a minute after the call. */
const lagging = defineHandler<{ to: string }>({
  ...{ name: 'lagging', target: ({ to }) => to, limits: { maxItems: 10 }, linger: { lingerMs: 0 }, leaders: 1 },
  ...{ reconcile: () => Promise.resolve({ status: 'absent' }), absentAfterMs: 60_000 },
  retry: { delayed: { baseMs: 10, maxMs: 10 } },
  submit: () => Promise.reject(new Error('the call is made by nobody here')),
});

let bench: Bench;
beforeAll(async () => {
  bench = await openBench([lagging]);
});
afterAll(() => bench.stop());

const older: Run = { runId: 'older', runStartedAtMs: 1_000 };
const newer: Run = { runId: 'newer', runStartedAtMs: 2_000 };
const rows = async <R extends object>(text: string): Promise<R[]> => (await bench.database.pool.query<R>(text)).rows;

test('a second call that its run did not live to conclude: its age is its own, not that of the first', async () => {
  await bench.client.submit('lagging', { id: 'se-1', payload: { to: 'se' } });
  const leaderId = (await rows<{ id: number }>('select id from leader'))[0]!.id;
  const runs = [older, newer, { runId: 'newest', runStartedAtMs: 3_000 }];
  const turns = new Map<Run, number>();
  /** The next turn of a run that has something to carry: a resend waits for a moment. */
  const next = (run: Run): Promise<CallerDeps> =>
    eventually(async () => {
      turns.set(run, (turns.get(run) ?? 0) + 1);
      const answer = await bench.turn(run, turns.get(run)!, { leaderId });
      return answer.dispatch !== null && bench.dispatch(answer, lagging, leaderId);
    });
  const carried = (deps: CallerDeps) => readDispatch(deps.pool, leaderId, deps.input.no);
  /** Marks the call in the next turn, and dies. */
  const die = async (run: Run): Promise<void> => {
    const deps = await next(run);
    expect(await prepare(deps, await carried(deps))).toHaveLength(1);
    await rows('update batch set attempt_until = clock()');
  };
  /** Looks up the call that the run before did not live to conclude, in the next turn. */
  const conclude = async (run: Run): Promise<CallEnd> => {
    const deps = await next(run);
    const { call, outcome } = await concludeEarlier(deps, (await carried(deps))[0]!);
    await settle(call, outcome);
    return outcome;
  };
  await die(runs[0]!);
  await rows(`update batch set started_at = started_at - interval '61 s', called_at = called_at - interval '61 s'`);
  expect(await conclude(runs[1]!)).toMatchObject({ kind: 'unknown' });
  await die(runs[1]!);
  expect(await conclude(runs[2]!)).toMatchObject({ kind: 'look-again' });
});
