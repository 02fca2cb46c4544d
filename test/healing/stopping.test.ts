import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { defineHandler } from '../../handlers';
import { lookSignal } from '../../workflows/definitions';
import { queuerWorkflowId } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import { failedRuns } from './failedRuns';
import type { OwnMuster } from '../workflows/ownNode';
import { openOwn } from '../workflows/ownNode';

/**
 * A worker stops while one of its runs is busy: work comes all the time, another worker makes the
 * calls, and the run's turns are so slow that at the end of each workflow task the server has the
 * next one ready.
 *
 * @slow
 */

const SLOW_MS = 300;
const EVERY_MS = 30;
const common = {
  target: ({ to }: { to: string }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: async ({ tasks }: { tasks: readonly { id: string }[] }) => {
    await sleep(SLOW_MS); // there is always a call in progress: the run has no reason to end
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
});
afterAll(() => muster.stop());

type Kind = 'leader' | 'queuer';
const runOf = async (kind: Kind): Promise<string> =>
  kind === 'queuer' ? queuerWorkflowId(muster.prefix, 0) : (await muster.leaderOf(kind)).workflowId;

/** What a run that stands waits for: its pending activities and its last events. */
const story = async (run: WorkflowHandle): Promise<string> => {
  const { status, raw } = await run.describe();
  const { events = [] } = await run.fetchHistory();
  const pending = raw.pendingActivities?.map(({ activityType, state }) => `${activityType?.name} ${state}`) ?? [];
  const last = events!.slice(-30).map(({ eventId, eventType }) => `${Number(eventId)} ${eventType}`);
  return [status.name, ...pending, ...last].join('\n');
};

test.each(['leader', 'queuer'] as const)(
  'a busy %s does not keep its worker from stopping, and another worker goes on with it',
  async (kind) => {
    const stop = await muster.startNode({ shutdownGraceMs: 2_000 });
    const { workflow } = await muster.client.temporal();
    const ids: string[] = [];
    const submit = async (): Promise<void> => {
      ids.push(`${kind}-${ids.length}`);
      await muster.client.submit(kind, { id: ids.at(-1)!, payload: { to: String(ids.length % 3) } });
    };
    await submit();
    await muster.client.waitFor(ids, { timeoutMs: 60_000 });
    const workflowId = await runOf(kind);
    let isBusy = true;
    const work = async (): Promise<void> => {
      while (isBusy) {
        await submit();
        await workflow
          .getHandle(workflowId)
          .signal(lookSignal)
          .catch(() => undefined); // between two runs
        await sleep(EVERY_MS);
      }
    };
    Object.assign(muster.slow, { names: ['publish-turn', 'publish-grant-turn'], ms: SLOW_MS });
    const working = work();
    try {
      await eventually(() => ids.length > (4 * SLOW_MS) / EVERY_MS);
      const stopOther = await muster.startNode();
      await stop(); // rejects where the worker had to be broken off
      isBusy = false;
      await working;
      muster.slow.names = [];
      await muster.client.waitFor(ids, { timeoutMs: 60_000 }).catch(async (error: Error) => {
        throw new Error(`${error.message}\n${await story(workflow.getHandle(workflowId))}`, { cause: error });
      });
      await stopOther();
      expect(await failedRuns(await muster.client.temporal(), muster.prefix)).toEqual([]);
    } finally {
      isBusy = false;
      muster.slow.names = [];
      await working;
    }
  },
);
