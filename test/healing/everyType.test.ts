import type { temporal } from '@temporalio/proto';
import { startTemporalDev } from '../../workers/embedded';
import { setCurrentVersion } from '../../workers/temporal/versioning';
import * as product from '../../workflows';
import { WORKER_STOPPING } from '../../workflows/messages';
import { eventually } from '../helpers/eventually';
import { KINDS, ONE_SHOT, TYPES } from './kinds';
import type { Type } from './kinds';
import { otherVersion, PATIENT, TypeWorld } from './typeWorld';
import { Requests } from '../../workflows/temporal/requests';

/**
 * What may befall a run of any workflow: each takes a turn again, by itself, in bounded time. Every
 * type at once, so that a fault's test takes as long as the slowest of them.
 *
 * @slow
 */

let world: TypeWorld;
beforeEach(async () => {
  world = await TypeWorld.open();
});
afterEach(() => world.close());

const each = (work: (type: Type) => Promise<unknown>): Promise<unknown> => Promise.all(TYPES.map(work));
/** Returns the activities a run has scheduled, and the longest wait between two tries of each. */
const backOffsOf = async (handle: {
  fetchHistory(): Promise<temporal.api.history.v1.IHistory>;
}): Promise<{ activity: string; seconds: number }[]> => {
  const { events } = await handle.fetchHistory();
  return events!.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    const seconds = Number(scheduled?.retryPolicy?.maximumInterval?.seconds ?? Infinity);
    return scheduled == null ? [] : [{ activity: scheduled.activityType!.name!, seconds }];
  });
};
/** Every type was begun anew, for this reason. */
const stuckFor = (reason: RegExp): void => {
  const told = world.warnings.filter(({ msg }) => /^a stuck run was (terminated|told to end)/.test(String(msg)));
  expect(told.map(({ type }) => type).sort()).toEqual([...TYPES].sort());
  expect(told.map((one) => one['reason'])).toEqual(TYPES.map(() => expect.stringMatching(reason)));
};
const closed = (type: Type): Promise<unknown> =>
  eventually(async () => (await world.handle(type).describe()).status.name !== 'RUNNING', {
    what: `the ${type} to end`,
  });

test('every workflow that the bundle has is tested here', () => {
  expect([...TYPES, ...ONE_SHOT].sort()).toEqual(Object.keys(product).sort());
});

test('waiting while its code changes without versioning: the next turn is the new code’s; after a rollback it is the old code’s', async () => {
  const stopOld = await world.worker('old');
  await world.allWait();
  await stopOld();
  const stopNew = await world.worker('new', { bundle: await otherVersion('incompatible') });
  await each((type) => world.takesTurn(type, 'new'));
  await stopNew();
  await world.worker('rolled back');
  await each((type) => world.takesTurn(type, 'rolled back'));
});

test('waiting with a history that its own code cannot replay: the next run goes on, each time', async () => {
  // Each fails by itself: on a slow machine the sweeper would end one of them before.
  await world.close();
  world = await TypeWorld.open(undefined, PATIENT);
  const bundle = await otherVersion('forgetful');
  let stop = await world.worker('first', { bundle });
  await world.allWait();
  for (const name of ['second', 'third']) {
    await stop();
    const runs = await Promise.all(TYPES.map((type) => world.openRun(type)));
    stop = await world.worker(name, { bundle });
    await each((type) => world.takesTurn(type, name));
    const ends = await Promise.all(runs.map(async (run) => (await run.describe()).status.name));
    expect(ends).toEqual(TYPES.map(() => 'FAILED')); // none of them could be replayed
  }
});

test('waiting while its version loses all its workers: the next turn is the current version’s', async () => {
  const version = (buildId: string) => ({ deploymentName: world.prefix, buildId });
  const { connection } = world;
  const stopOne = await world.worker('one', { versioned: true });
  await setCurrentVersion(connection, 'default', version('one'), 'test');
  await world.allWait();
  await stopOne();
  await world.worker('two', { versioned: true });
  await setCurrentVersion(connection, 'default', version('two'), 'test');
  await each((type) => world.takesTurn(type, 'two'));
});

test('a bug in its code: the run fails and says so, and the next one goes on once the code is mended', async () => {
  const stop = await world.worker('broken', { bundle: await otherVersion('broken') });
  await each(async (type) => {
    await world.start(type, [{}]);
    await closed(type);
    await expect(world.handle(type).result()).rejects.toMatchObject({ cause: { message: 'a bug' } });
    await world.look(type);
  });
  await stop();
  await world.worker('mended');
  await each((type) => world.takesTurn(type, 'mended'));
  const told = world.warnings.filter(({ msg }) => msg === 'the last run of a workflow failed; the next run continues');
  expect(new Set(told.map(({ workflowId }) => workflowId)).size).toBe(TYPES.length);
});

test('a signal that fails every workflow task: the run is terminated and begun anew, and the log says why', async () => {
  await world.worker('one', { bundle: await otherVersion('strict') });
  await world.allWait();
  await each(async (type) => {
    const runOf = async (): Promise<string> => (await world.handle(type).describe()).runId;
    const first = await runOf();
    await world.signalUndecodable(type);
    // A turn that an earlier wake asked for may still come.
    do await world.takesTurn(type);
    while ((await runOf()) === first);
  });
  stuckFor(/workflow task failed/);
});

test('woken, and it takes no turn: the run is terminated and begun anew, and the log says why', async () => {
  await world.worker('one', { bundle: await otherVersion('mute') });
  await world.allWait();
  await each((type) => world.takesTurn(type));
  // A look right behind a wake finds the workflow task that the wake was given.
  stuckFor(/^it was woken and does nothing$|^its turn does not end$/);
});

test('its workflow task times out twice, in stopped workers: the run is begun anew, and the log says why', async () => {
  await each((type) => world.start(type, [{}], { workflowTaskTimeout: '1 s' }));
  await world.takeAndStop(2 * TYPES.length);
  const runs = await Promise.all(TYPES.map((type) => world.openRun(type)));
  await each((type) =>
    eventually(async () => (await world.handle(type).describe()).raw.pendingWorkflowTask?.attempt === 3, {
      what: `the second time-out of the ${type}`,
    }),
  );
  await each((type) => world.look(type, 1_000));
  stuckFor(/^its workflow task failed or timed out 2 times$/);
  await world.worker('one');
  await each((type) => world.takesTurn(type, 'one'));
  const ends = await Promise.all(runs.map(async (run) => (await run.describe()).status.name));
  expect(ends).toEqual(TYPES.map(() => 'TERMINATED'));
});

const turning = TYPES.filter((type) => KINDS[type].more !== null);
test('a run of leader, queuer and balancer continues as new after 200 turns', async () => {
  expect([...turning].sort()).toEqual(['balancer', 'leader', 'queuer']);
  world.busyTurns = 203;
  await world.worker('one');
  await Promise.all(
    turning.map(async (type) => {
      await world.takesTurn(type);
      const run = await world.openRun(type);
      await eventually(() => world.turns[type] > world.busyTurns, { what: `the turns of the ${type}` });
      const { status } = await run.describe();
      expect([type, world.lastTurnOf.get(run.runId), status.name]).toEqual([type, 200, 'CONTINUED_AS_NEW']);
    }),
  );
});

test('refused by a worker that is stopping: the same run takes the turn in another one', async () => {
  const draining = new AbortController();
  const stop = await world.worker('stopping', { draining: draining.signal });
  await world.allWait();
  const runs = await Promise.all(turning.map((type) => world.openRun(type)));
  draining.abort();
  await Promise.all(turning.map((type) => KINDS[type].wake(new Requests(world.temporal), world.prefix)));
  await Promise.all(
    runs.map(({ history }) =>
      eventually(async () => (await history()).some(isRefusal), { what: 'a turn to be refused' }),
    ),
  );
  await stop();
  await world.worker('another');
  await Promise.all(turning.map((type) => world.takesTurn(type, 'another')));
  expect(await Promise.all(runs.map(async (run) => (await run.describe()).status.name))).toEqual(
    turning.map(() => 'RUNNING'),
  );
});
const isRefusal = ({ markerRecordedEventAttributes: marker }: temporal.api.history.v1.IHistoryEvent): boolean =>
  marker?.failure?.applicationFailureInfo?.type === WORKER_STOPPING;

test.each([
  ['no input', []],
  ['an input of another shape', ['orders']],
])('started with %s: it does not stay in the way', async (_what, args) => {
  await world.worker('one');
  await each(async (type) => {
    await world.start(type, args);
    await world.takesTurn(type);
  });
});

test('a process that stops in the middle of its calls: each call is tried again within 10 s', async () => {
  await world.worker('one');
  await world.allWait();
  await world.handle('monitor').signal('complete', { handler: 'orders', reference: 'job-2', results: [] });
  const completion = await world.tell();
  await completion.result();
  const runs = [completion, ...TYPES.map((type) => world.handle(type))];
  const found = await eventually(
    async () => {
      const all = (await Promise.all(runs.map(backOffsOf))).flat();
      return all.some(({ activity }) => activity === 'takeSignalled') && all;
    },
    { what: 'the signalled completion to be read' },
  );
  expect(found.filter(({ seconds }) => seconds > 10)).toEqual([]);
  // The others try theirs inside a workflow task, which ends with its process.
  expect(new Set(found.map(({ activity }) => activity))).toEqual(
    new Set(['pollAccepted', 'takeSignalled', 'deliverNotifications', 'completeAccepted']),
  );
});

test.each<[string, (type: Type) => Promise<unknown>]>([
  ['cancelled', (type) => world.handle(type).cancel()],
  ['terminated', (type) => world.handle(type).terminate('an operator')],
  ['reset', (type) => world.reset(world.handle(type).workflowId)],
])('%s by an operator: it takes its next turn', async (_what, act) => {
  await world.worker('one');
  await world.allWait();
  await each(async (type) => {
    await act(type);
    await world.takesTurn(type);
  });
});

/**
 * What a server has that nobody configured: timers under a second fire at about one, and its limits
 * are in force.
 */
const SERVER_DEFAULTS = {
  'history.timerProcessorMaxTimeShift': '1s',
  'frontend.rps': 2_400,
  'frontend.namespaceRPS': 2_400,
  'frontend.namespaceRPS.visibility': 10,
  'frontend.namespaceCount': 1_200,
  'frontend.persistenceMaxQPS': 2_000,
  'matching.rps': 1_200,
  'matching.persistenceMaxQPS': 3_000,
  'history.rps': 3_000,
  'history.persistenceMaxQPS': 9_000,
};

test('on a server with its defaults every workflow goes on by its own timer, and when woken; a completion is taken', async () => {
  const server = await startTemporalDev({ dynamicConfig: SERVER_DEFAULTS });
  const there = await TypeWorld.open(server.address);
  try {
    there.restMs = 50;
    await there.worker('one');
    there.unavailable = 2;
    expect(await (await there.tell()).result()).toMatchObject({ kind: 'completed' });
    await there.allWait();
    await each(async (type) => {
      const before = there.turns[type];
      await eventually(() => there.turns[type] >= before + 3, {
        timeoutMs: 30_000,
        what: `three turns of the ${type}`,
      });
      await there.handle(type).terminate();
      await there.takesTurn(type);
    });
    expect(there.warnings).toEqual([]);
  } finally {
    await there.close();
    await server.stop();
  }
});
