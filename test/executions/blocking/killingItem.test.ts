import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import type { BlockingNode } from './blockingNodes';
import { BlockingNodes } from './blockingNodes';
import type { Fleet } from '../helpers';
import { ended, openFleet } from '../helpers';

/** An item that takes its process down, each time that it runs. @slow */

const nodes = new BlockingNodes();
const LEASES = { leaseMs: 2_000, timeoutMs: 60_000 };
let fleet: Fleet;
let leading: () => Promise<void>;
beforeAll(async () => {
  fleet = await openFleet({});
  // Leads, and answers no roll call.
  leading = await fleet.startNode({ executions: { rollCallMs: 500, leaseMs: 2_000, retryBaseMs: 10, maxLosses: 2 } });
});
afterAll(async () => {
  await nodes.kill();
  await leading();
  await fleet.stop();
  nodes.clear();
});

const hasEnded = ({ child }: BlockingNode): Promise<boolean> =>
  Promise.race([child.exited.then(() => true), new Promise<false>((resolve) => setImmediate(resolve, false))]);

test('an item that kills its process takes two nodes down, then has failed for good; others are done', async () => {
  const three = await Promise.all([1, 2, 3].map(() => nodes.start(fleet, LEASES)));
  const lists = Array.from({ length: 60 }, (_, i) => [i === 20 ? 'kill' : '0']);
  const execution = await fleet.run('block', lists, { numberOfNodes: 1 }, { maxAttempts: 10 });
  const view = await ended(execution, 90_000);
  expect(view).toMatchObject({ state: 'done', counts: { done: 59, permanentlyFailed: 1 } });
  const dead = await eventually(async () => {
    const gone = await Promise.all(three.map(hasEnded));
    return gone.filter(Boolean).length === 2 && gone;
  });
  expect(dead.filter((one) => !one)).toHaveLength(1);
  for await (const { position, state, attempts, exitCode, stderr } of execution.items())
    expect({ position, state, attempts, exitCode, stderr }).toEqual(
      position === 20
        ? {
            position,
            state: 'permanently-failed',
            attempts: 1,
            exitCode: null,
            stderr: 'its node died, or lost its chunk, while it ran: 2 times in a row',
          }
        : { position, state: 'done', attempts: 1, exitCode: 0, stderr: '' },
    );
  await expectWhole(fleet.client);
});
