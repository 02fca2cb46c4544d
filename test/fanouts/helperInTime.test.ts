import { WorkflowFailedError } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker';
import type { FanoutEnded } from '../../workflows/definitions';
import { fanoutEndedSignal } from '../../workflows/definitions';
import { testServerPath } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import '../helpers/muster'; // quiets the SDK's own log

/**
 * The waiting of `temporal-muster/workflow`, over hours, on the time-skipping server; Muster's side
 * of the queue as plain functions.
 */

const logger = { trace() {}, debug() {}, info() {}, warn() {}, error: console.error, log() {} };
let env: TestWorkflowEnvironment;
let workflowBundle: WorkflowBundleWithSourceMap;
beforeAll(async () => {
  env = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: testServerPath() } },
  });
  workflowBundle = await bundleWorkflowCode({ workflowsPath: require.resolve('./workflows/user'), logger });
});
afterAll(() => env.teardown());

interface World {
  asked: number[];
  adds: { id: string; items: number; key: string }[];
  fanout(): Promise<string>;
}
const withMuster = async (
  fakes: {
    end?: (id: string, hours: number) => FanoutEnded | null;
    whileAsked?: (id: string) => Promise<void>;
    failFirstAdd?: boolean;
  },
  work: (world: World) => Promise<void>,
): Promise<void> => {
  const world: World = { asked: [], adds: [], fanout: () => eventually(() => sealed !== '' && sealed) };
  let sealed = '';
  const startedAt = await env.currentTimeMs();
  const activities = {
    openFanout: async () => undefined,
    addFanoutItems: async (input: World['adds'][number]) => {
      world.adds.push(input);
      if (fakes.failFirstAdd === true && world.adds.length === 1) throw new Error('connection lost after the commit');
      return [{ first: 0, items: input.items, segmentSize: 512 }];
    },
    sealFanout: async ({ id }: { id: string }) => {
      sealed = id;
      return { state: 'sealed' };
    },
    readFanoutEnd: async ({ id }: { id: string }) => {
      const hours = ((await env.currentTimeMs()) - startedAt) / 3_600_000;
      world.asked.push(hours);
      await fakes.whileAsked?.(id);
      return fakes.end?.(id, hours) ?? null;
    },
  };
  const own = { sendMessages: async () => undefined };
  const muster = await Worker.create({ connection: env.nativeConnection, taskQueue: 'muster', activities });
  const user = await Worker.create({
    connection: env.nativeConnection,
    taskQueue: 'user',
    workflowBundle,
    activities: own,
  });
  await muster.runUntil(user.runUntil(work(world)));
};
let runs = 0;
const start = (adds: number[], options: object = {}) =>
  env.client.workflow.start('fanOut', { workflowId: `fan-${++runs}`, taskQueue: 'user', args: [adds, options] });
const ended = (fanout: string, type: FanoutEnded['type'] = 'fanout.completed'): FanoutEnded => ({
  type,
  fanout,
  userKey: null,
  items: 5,
  endedAt: '2026-01-01T00:00:00.000Z',
});
const typeOf = async (work: Promise<unknown>): Promise<unknown> => {
  const error = await work.then(
    () => null,
    (caught: unknown) => caught,
  );
  return error instanceof WorkflowFailedError ? (error.cause as unknown as { type: string }).type : error;
};

test('waits for hours and asks once an hour at most; a signal of another fan-out is not its own', async () => {
  await withMuster({}, async ({ asked, fanout }) => {
    const handle = await start([5]);
    const id = await fanout();
    await env.sleep('6 hours');
    await handle.signal(fanoutEndedSignal, ended('0190f6a0-0000-4000-8000-000000000001'));
    await handle.signal(fanoutEndedSignal, ended(id));
    await handle.signal(fanoutEndedSignal, ended(id, 'fanout.expired')); // the first end counts
    expect(await handle.result()).toMatchObject({ end: { type: 'fanout.completed', fanout: id } });
    expect(asked.length).toBeGreaterThanOrEqual(5);
    expect(asked.length).toBeLessThanOrEqual(6);
  });
});

test('a message that was given up is found within the hour; an expired fan-out and a timeout have types of their own', async () => {
  await withMuster({ end: (id, hours) => (hours < 2.5 ? null : ended(id)) }, async ({ asked }) => {
    expect(await (await start([5])).result()).toMatchObject({ end: { type: 'fanout.completed' } });
    expect(asked.at(-1)).toBeGreaterThan(2.5);
    expect(asked.at(-1)).toBeLessThan(3.6);
  });
  await withMuster({ end: (id, hours) => (hours < 1.5 ? null : ended(id, 'fanout.expired')) }, async () => {
    expect(await typeOf((await start([5])).result())).toBe('MusterFanoutExpired');
  });
  await withMuster({}, async () => {
    expect(await typeOf((await start([5], { timeout: 90 * 60_000 })).result())).toBe('MusterTimeout');
  });
});

test('a signal that comes while the workflow asks counts', async () => {
  let whileAsked: (id: string) => Promise<void> = async () => undefined;
  await withMuster({ whileAsked: (id) => whileAsked(id) }, async ({ asked }) => {
    const handle = await start([5]);
    whileAsked = (id) => handle.signal(fanoutEndedSignal, ended(id));
    expect(await handle.result()).toMatchObject({ end: { type: 'fanout.completed' } });
    expect(asked).toHaveLength(1);
  });
});

test('a retried add carries the same key, so that it adds once; 25 million are three activities [D6]', async () => {
  await withMuster({ failFirstAdd: true }, async ({ adds, fanout }) => {
    const handle = await start([25_000_000]);
    await handle.signal(fanoutEndedSignal, ended(await fanout()));
    await handle.result();
    expect(adds.map(({ items }) => items)).toEqual([10_000_000, 10_000_000, 10_000_000, 5_000_000]);
    expect(adds[0]!.key).toBe(adds[1]!.key);
    expect(new Set(adds.map(({ key }) => key)).size).toBe(3);
  });
});
