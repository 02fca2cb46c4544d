import type { WorkflowExecutionDescription, WorkflowHandle } from '@temporalio/client';
import { WorkflowFailedError } from '@temporalio/client';
import { setCurrentVersion } from '../../workers/temporal/versioning';
import { eventually } from '../helpers/eventually';
import { otherVersion, TypeWorld } from './typeWorld';

/**
 * What may befall a completion: nobody wakes it, and whoever started it reads its result, or that
 * it has none.
 *
 * @slow
 */

let world: TypeWorld;
beforeEach(async () => {
  world = await TypeWorld.open();
});
afterEach(() => world.close());

const waitsForHandler = (handle: { describe(): Promise<WorkflowExecutionDescription> }): Promise<unknown> =>
  eventually(async () => ((await handle.describe()).raw.pendingActivities?.length ?? 0) > 0, {
    what: 'the completion to wait for its handler',
  });
const told = { kind: 'completed', batch: 1, by: 'serves' };

test.each<[string, string, (handle: WorkflowHandle) => Promise<unknown>]>([
  ['cancelled', 'CANCELLED', (handle) => handle.cancel()],
  ['terminated', 'TERMINATED', (handle) => handle.terminate('an operator')],
])(
  'a completion that waits for its handler, and is %s by an operator, ends so, and may be told again',
  async (_, end, act) => {
    const stop = await world.worker('one', { serves: false });
    const handle = await world.tell();
    await waitsForHandler(handle);
    await act(handle);
    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
    expect((await handle.describe()).status.name).toBe(end);
    const again = await world.tell();
    await stop();
    await world.worker('serves');
    expect(await again.result()).toEqual(told);
  },
);

test('a completion that waits for its handler, and is reset by an operator, goes on', async () => {
  const stop = await world.worker('one', { serves: false });
  const { workflowId } = await world.tell();
  const handle = world.temporal.workflow.getHandle(workflowId);
  await waitsForHandler(handle);
  await world.reset(workflowId);
  await stop();
  await world.worker('serves');
  expect(await handle.result()).toEqual(told);
});

test('a completion that waits for its handler while its version loses all its workers is taken by the current one', async () => {
  const version = (buildId: string) => ({ deploymentName: world.prefix, buildId });
  const stopOne = await world.worker('one', { versioned: true, serves: false });
  await setCurrentVersion(world.connection, 'default', version('one'), 'test');
  const handle = await world.tell();
  await waitsForHandler(handle);
  await stopOne();
  await world.worker('two', { versioned: true });
  await setCurrentVersion(world.connection, 'default', version('two'), 'test');
  expect(await handle.result()).toMatchObject({ kind: 'completed', by: 'two' });
});

test('a completion that meets a bug in its code fails, and says so to whoever started it', async () => {
  await world.worker('broken', { bundle: await otherVersion('broken') });
  const handle = await world.tell();
  await expect(handle.result()).rejects.toMatchObject({ cause: { message: 'a bug' } });
});

test.each([
  ['no input', []],
  ['an input of another shape', ['orders']],
])('a completion started with %s ends, and says why', async (_what, told) => {
  await world.worker('one');
  expect(await (await world.tell(told)).result()).toMatchObject({ kind: 'unknown-handler' });
});
