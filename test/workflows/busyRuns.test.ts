import { defineHandler } from '../../handlers';
import { lookSignal } from '../../workflows/definitions';
import { queuerWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import { countOf } from './histories';
import type { OwnMuster } from './ownNode';
import { openOwn } from './ownNode';

/**
 * A leader and a queuer with a call that takes long: what else they do, how long it may take, and
 * who may break it off.
 *
 * @slow
 */

const DAY_MS = 86_400_000;
const calls: string[] = [];
let gate: Promise<void>;
let open: () => void;
const common = {
  target: ({ to }: { to: string }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  timeoutMs: DAY_MS,
  submit: async ({ tasks }: { tasks: readonly { id: string }[] }) => {
    calls.push(...tasks.map(({ id }) => id));
    if (tasks.some(({ id }) => id.endsWith('slow'))) await gate;
    return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
};
const handlers = [
  defineHandler<{ to: string }>({ ...common, name: 'leader', leaders: 1 }),
  defineHandler<{ to: string }>({ ...common, name: 'queuer', service: (to) => to, lane: { approach: 'serial' } }),
];

let muster: OwnMuster;
beforeAll(async () => {
  muster = await openOwn(handlers);
  await muster.startNode({ sweepEveryMs: 200, leaseMs: 2_000 });
});
afterAll(() => muster.stop());
const close = (): void => {
  gate = new Promise((resolve) => (open = resolve));
};
beforeEach(close);
afterEach(() => open());

type Kind = 'leader' | 'queuer';
const idOf = async (kind: Kind): Promise<string> =>
  kind === 'queuer' ? queuerWorkflowId(muster.prefix, 0) : (await muster.leaderOf(kind)).workflowId;
const handleOf = async (kind: Kind, runId?: string) =>
  (await muster.client.temporal()).workflow.getHandle(await idOf(kind), runId);
const submit = (kind: Kind, id: string, to = id): Promise<unknown> =>
  muster.client.submit(kind, { id: `${kind}-${id}`, payload: { to } });
const succeeded = async (kind: Kind, ...ids: string[]): Promise<void> => {
  await muster.client.waitFor(
    ids.map((id) => `${kind}-${id}`),
    { timeoutMs: 60_000 },
  );
};
const called = (id: string): Promise<boolean> => eventually(() => calls.includes(id), { what: `the call of ${id}` });

/** The run that is open is ended, and another begun that is long soon. */
const beginShort = async (kind: Kind, limits: object): Promise<string> => {
  await submit(kind, `first-${JSON.stringify(limits)}`);
  await succeeded(kind, `first-${JSON.stringify(limits)}`);
  const { workflow } = await muster.client.temporal();
  await (await handleOf(kind)).terminate('the test begins another').catch(() => undefined);
  const common =
    kind === 'queuer' ? { queuerId: 0 } : { leaderId: (await muster.leaderOf(kind)).id, handler: kind, name: '0' };
  const { signaledRunId } = await workflow.signalWithStart(kind, {
    workflowId: await idOf(kind),
    taskQueue: workflowTaskQueue(muster.prefix),
    args: [{ ...common, ...limits }],
    signal: lookSignal,
    signalArgs: [],
  });
  return signaledRunId;
};
/**
 * The same with a call in progress, of the task that is returned. The run that is begun may end
 * before its task comes, since it has nothing to do yet: then the next one is tried.
 */
const beginBusy = async (kind: Kind, limits: object): Promise<{ runId: string; slow: string }> => {
  for (;;) {
    const runId = await beginShort(kind, limits);
    const slow = `${calls.length}-slow`;
    await submit(kind, slow);
    await called(`${kind}-${slow}`);
    if (countOf(await eventsOf(kind, runId), 'activityTaskScheduledEventAttributes') > 0) return { runId, slow };
    open();
    await succeeded(kind, slow);
    close();
  }
};
const eventsOf = async (kind: Kind, runId: string) => (await (await handleOf(kind, runId)).fetchHistory()).events ?? [];
const inFlight = (events: Parameters<typeof countOf>[0]): number =>
  countOf(events, 'activityTaskScheduledEventAttributes') - countOf(events, 'activityTaskCompletedEventAttributes');
const statusOf = async (kind: Kind, runId: string): Promise<string> =>
  (await (await handleOf(kind, runId)).describe()).status.name;
const hasEnded = (kind: Kind, runId: string, how: string): Promise<unknown> =>
  eventually(async () => (await statusOf(kind, runId)) === how, {
    what: async () => `the run to be ${how}, it is ${await statusOf(kind, runId)}`,
  });

describe.each(['leader', 'queuer'] as const)('a %s with a call that takes long', (kind) => {
  test('goes on with everything else past its turns, and continues as new when nothing is in flight', async () => {
    const { runId, slow } = await beginBusy(kind, { turnsPerRun: 3 });
    for (let i = 0; i < 6; i++) {
      await submit(kind, `a-${i}`);
      await succeeded(kind, `a-${i}`);
      // Or a submitter that is still there takes the next lane by itself, without a turn.
      await eventually(async () => inFlight(await eventsOf(kind, runId)) === 1, { what: 'the slow call alone' });
    }
    expect((await (await handleOf(kind, runId)).describe()).status.name).toBe('RUNNING');
    open();
    await succeeded(kind, slow);
    await submit(kind, 'a-last');
    await succeeded(kind, 'a-last');
    // It ended, whichever came first: nothing left to do, or its turn to continue as new.
    await eventually(async () => (await (await handleOf(kind, runId)).describe()).status.name !== 'RUNNING');
  });

  test('claims nothing more where its history is too long, and continues as new when the call has ended', async () => {
    const { runId, slow } = await beginBusy(kind, { turnsPerRun: 3, mostEvents: 20 });
    const ids = Array.from({ length: 12 }, (_, i) => `b-${i}`);
    for (const id of ids) await submit(kind, id);
    await eventually(async () => (await eventsOf(kind, runId)).length >= 20);
    open();
    await succeeded(kind, slow, ...ids);
    await hasEnded(kind, runId, 'CONTINUED_AS_NEW');
    const claimed = (await eventsOf(kind, runId)).filter((event) => event.activityTaskScheduledEventAttributes != null);
    expect(Number(claimed.at(-1)!.eventId)).toBeLessThan(60); // 12 claims are above 100 events
  });

  test("gives its activity the handler's own time, a day", async () => {
    const { runId, slow } = await beginBusy(kind, {});
    const limits = (await eventsOf(kind, runId)).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled?.startToCloseTimeout == null ? [] : [Number(scheduled.startToCloseTimeout.seconds)],
    );
    expect(limits.length).toBeGreaterThan(0);
    for (const seconds of limits) expect(seconds * 1_000).toBeGreaterThan(DAY_MS);
    open();
    await succeeded(kind, slow);
  });

  test('is cancelled in the Web UI: no call is broken off, the run ends behind it, and the next one goes on', async () => {
    const { runId, slow } = await beginBusy(kind, {});
    await (await handleOf(kind, runId)).cancel();
    await eventually(
      async () => countOf(await eventsOf(kind, runId), 'workflowExecutionCancelRequestedEventAttributes') === 1,
    );
    await submit(kind, 'd-next');
    open();
    await succeeded(kind, slow, 'd-next');
    await hasEnded(kind, runId, 'CANCELLED');
    const events = await eventsOf(kind, runId);
    expect(countOf(events, 'activityTaskCancelRequestedEventAttributes')).toBe(0);
    expect(calls.filter((id) => id === `${kind}-${slow}`)).toHaveLength(1);
  });
});
