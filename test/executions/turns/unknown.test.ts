import { randomUUID } from 'node:crypto';
import type { ActivityDeps } from '../../../activities/deps';
import { ExecutionMeters } from '../../../activities/executions/meters';
import { rollCall } from '../../../activities/executions/rollCall';
import { DEFAULT_EXECUTION_SETTINGS } from '../../../activities/executions/settings';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

/** Turns of workflows whose execution the store does not have. */

let database: TestDatabase;
beforeAll(async () => void (database = await createDatabase({ max: 2 })));
afterAll(() => database.drop());

test.each([
  ['of anything, started by hand', 'by-hand'],
  ['deleted meanwhile', randomUUID()],
])('an execution %s is over, and counts and plans nothing', async (_, executionId) => {
  const deps: Partial<ActivityDeps> = {
    pool: database.pool,
    executions: DEFAULT_EXECUTION_SETTINGS,
    meters: new ExecutionMeters(),
  };
  const run = { runId: 'run', runStartedAtMs: 1, turn: 1, running: [], undelivered: [] };
  const turn = { batch: true as const, executionId, ...run, rollCallOver: false, mayPlan: true };
  expect(await rollCall(deps as ActivityDeps, turn)).toMatchObject({
    next: 'over',
    chunks: [],
    planned: false,
    counts: { created: 0, inProgress: 0, done: 0, failed: 0, permanentlyFailed: 0 },
    round: 0,
    note: null,
    dueInMs: null,
  });
  expect((await database.pool.query('select from execution')).rows).toEqual([]);
});
