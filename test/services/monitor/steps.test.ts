import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pollAccepted } from '../../../activities/accepted/poll';
import type { ItemResult } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import { carry, openBench } from '../../workflows/bench';

/** What the Web UI shows of a look at accepted batches that goes on. */

test('heartbeats tell which batch is being read, and for how long', async () => {
  let answer: (results: ItemResult[]) => void = () => undefined;
  const jobs = defineHandler<{ to: string }>({
    name: 'jobs',
    target: ({ to }) => to,
    limits: { maxItems: 10 },
    linger: { lingerMs: 0 },
    submit: () => Promise.resolve({ status: 'accepted', reference: 'r' }),
    status: () => Promise.resolve([{ reference: 'r', status: 'done' }]),
    results: () => new Promise<ItemResult[]>((resolve) => (answer = resolve)),
    poll: { everyMs: 100 },
  });
  const bench = await openBench([jobs]);
  try {
    const id = randomUUID();
    await bench.client.submit('jobs', { id, payload: { to: 'x' } });
    const turn = await bench.turn({ runId: 'run', runStartedAtMs: 1 }, 1);
    const deps = await bench.dispatch(turn, jobs);
    await carry(deps);
    await bench.database.pool.query('update batch set poll_at = clock()');
    const beats: unknown[] = [];
    const activity = new MockActivityEnvironment();
    activity.on('heartbeat', (details) => beats.push(details));
    const looking = activity.run(() => pollAccepted(deps, { handler: 'jobs' }));
    await eventually(() => beats.length > 1, { timeoutMs: 20_000 });
    const [one] = (beats.at(-1) as { at: { batch: number; step: string; forMs: number }[] }).at;
    expect(one).toMatchObject({ batch: 1, step: 'reading its results' });
    expect(one!.forMs).toBeGreaterThan(500);
    answer([{ id, status: 'ok' }]);
    await looking;
    expect(beats[0]).toMatchObject({ settled: 0 });
  } finally {
    await bench.stop();
  }
});
