import { TestWorkflowEnvironment } from '@temporalio/testing';
import { NativeConnection, Worker } from '@temporalio/worker';
import { lookSignal } from '../../workflows/definitions';
import type { DeliveryAnswer } from '../../workflows/definitions';
import { notifierWorkflowId } from '../../workflows/naming';
import { NOTIFIER_RUN } from '../../workflows/planning/looks';
import { wakeNotifier } from '../../workflows/wake';
import { setCurrentVersion } from '../../workers/temporal/versioning';
import { temporalAddress, testServerPath } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { startMuster } from '../helpers/muster';
import { prebuiltBundle as workflowBundle } from '../helpers/prebuilt';
import { countOf } from '../workflows/histories';
import { Requests } from '../../workflows/temporal/requests';

/** @slow */

describe('a workflow that looks until nothing is left', () => {
  let env: TestWorkflowEnvironment;
  beforeAll(async () => {
    env = await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path: testServerPath() } },
    });
  });
  afterAll(() => env.teardown());

  let runs = 0;
  /** Runs the notifier over looks that answer what `dueInMs` says of the n-th one (from 1). */
  const withLooks = async (
    dueInMs: (look: number) => number | null,
    work: (workflowId: string, looks: number[]) => Promise<void>,
    args: unknown[] = [],
  ): Promise<void> => {
    const taskQueue = `looks-${++runs}`;
    const looks: number[] = [];
    const deliverNotifications = async (): Promise<DeliveryAnswer> => {
      looks.push(await env.currentTimeMs());
      return { delivered: 0, givenUp: 0, putOff: 0, dueInMs: dueInMs(looks.length) };
    };
    const activities = { deliverNotifications };
    const worker = await Worker.create({ connection: env.nativeConnection, taskQueue, workflowBundle, activities });
    await worker.runUntil(async () => {
      await env.client.workflow.signalWithStart('notifier', {
        workflowId: taskQueue,
        taskQueue,
        args,
        signal: lookSignal,
        signalArgs: [],
      });
      await work(taskQueue, looks);
    });
  };

  test('waits for the next thing due to the millisecond, looks at once when told, ends when nothing is left; its history replays', async () => {
    await withLooks(
      (look) => [86_400_000, 5_000, 3_600_000, null][look - 1]!,
      async (workflowId, looks) => {
        const handle = env.client.workflow.getHandle(workflowId);
        await env.sleep(86_400_000 + 10_000); // two looks that were due, and the third begins to wait
        expect(looks.length).toBe(3);
        await handle.signal(lookSignal);
        await handle.result();
        expect(looks.length).toBe(4);
        expect(looks[1]! - looks[0]!).toBeGreaterThanOrEqual(86_400_000);
        expect(looks[1]! - looks[0]!).toBeLessThan(86_400_000 + 60_000);
        expect(looks[2]! - looks[1]!).toBeLessThan(60_000);
        expect(looks[3]! - looks[2]!).toBeLessThan(60_000); // told, not an hour later
        await Worker.runReplayHistory({ workflowBundle }, await handle.fetchHistory(), workflowId);
      },
    );
  });

  test('continues as new after 100 looks, so that a replay after a kill is short, and goes on looking', async () => {
    await withLooks(
      // Hardly a timer: with one after each look the size of the history would end the run before.
      (look) => (look === 120 ? null : look % 50 === 0 ? 60_000 : 0),
      async (workflowId, looks) => {
        const first = (await env.client.workflow.getHandle(workflowId).describe()).runId;
        await env.client.workflow.getHandle(workflowId).result();
        expect(looks.length).toBe(120);
        expect((await env.client.workflow.getHandle(workflowId).describe()).runId).not.toBe(first);
        const { events } = await env.client.workflow.getHandle(workflowId, first).fetchHistory();
        expect(countOf(events ?? [], 'activityTaskCompletedEventAttributes')).toBe(100);
      },
    );
  });

  test('told often, it continues as new after the events that its input says, and hands it on', async () => {
    await withLooks(
      () => 3_600_000,
      async (workflowId, looks) => {
        const handle = env.client.workflow.getHandle(workflowId);
        const runIds = new Set<string>();
        while (runIds.size < 3) {
          runIds.add((await handle.describe()).runId);
          const { length } = looks;
          await handle.signal(lookSignal);
          await eventually(() => looks.length > length);
        }
        for (const runId of [...runIds].slice(0, 2)) {
          const { events } = await env.client.workflow.getHandle(workflowId, runId).fetchHistory();
          expect(events!.length).toBeGreaterThanOrEqual(NOTIFIER_RUN.mostEvents);
          expect(events!.length).toBeLessThan(1.5 * NOTIFIER_RUN.mostEvents);
        }
        await handle.terminate();
      },
      [NOTIFIER_RUN],
    );
  });
});

test('with versioned workers it moves on to the current version: the one that began it may be gone when it is due', async () => {
  const versioning = { deploymentName: `looking-${Date.now()}`, buildId: 'one' };
  const muster = await startMuster([], { versioning });
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  try {
    await setCurrentVersion(connection, 'default', versioning, 'test');
    const temporal = await muster.client.temporal();
    expect(await wakeNotifier(new Requests(temporal), muster.prefix)).toBeNull();
    const handle = temporal.workflow.getHandle(notifierWorkflowId(muster.prefix));
    await eventually(async () => (await handle.describe()).status.name === 'COMPLETED');
    const { raw, runId } = await handle.describe();
    const { events } = await temporal.workflow.getHandle(handle.workflowId, runId).fetchHistory();
    const { input } = events![0]!.workflowExecutionStartedEventAttributes!;
    expect(JSON.parse(Buffer.from(input!.payloads![0]!.data!).toString())).toEqual(NOTIFIER_RUN);
    expect(raw.workflowExecutionInfo!.versioningInfo!.behavior).toBe(2); // AUTO_UPGRADE
  } finally {
    await muster.stop();
    await connection.close();
  }
});
