import { executionWorkflowId } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import { exorciseGhosts, summonGhosts } from './ghosts';
import type { Fleet } from './helpers';
import { ended, functionsOf, lists, openFleet, Runs } from './helpers';

/**
 * What goes wrong on the way: no nodes, nodes that are gone, lost workflows.
 *
 * @full
 */

const runs = new Runs();
const echo = { echo: runs.echo };
let fleet: Fleet;
beforeEach(() => void runs.all.splice(0));
const run: Fleet['run'] = (...args) => fleet.run(...args);

describe('nodes that are not there', () => {
  beforeAll(async () => {
    fleet = await openFleet(echo, { leaseMs: 1_000 });
  });
  afterAll(() => fleet.stop());

  test('0 nodes: it stays CREATED, says so, and goes on when a node appears [E3]', async () => {
    const plain = await fleet.startNode({ executions: { rollCallMs: 300 } }); // leads, and has no batch support
    const execution = await run('echo', lists(5), { numberOfNodes: 2 });
    const view = await eventually(async () =>
      ((now) => now.message?.startsWith('no node answered') && now)(await execution.status()),
    );
    expect(view).toMatchObject({ state: 'created', round: 0, counts: { created: 5 } });
    const node = await fleet.node();
    expect(await ended(execution)).toMatchObject({ state: 'done', message: null });
    await node();
    await plain();
  });

  test('sent to 3, 2 fail: the message names those 2, the third runs, the items of the two are CREATED again', async () => {
    const node = await fleet.node({ retryBaseMs: 60_000 });
    await summonGhosts(fleet, 'ghost-1', 'ghost-2');
    const execution = await run('echo', lists(9), { numberOfNodes: 3 });
    const view = await eventually(
      async () => ((now) => now.counts.created === 6 && now.counts.done === 3 && now)(await execution.status()),
      { what: async () => JSON.stringify(await execution.status()) },
    );
    expect(view.message).toBe('a chunk could not be delivered to ghost-1, ghost-2; its items are created again');
    expect(runs.all).toHaveLength(3);
    for await (const item of execution.items())
      expect([item.state, item.attempts]).toEqual(item.state === 'done' ? ['done', 1] : ['created', 0]);
    await execution.cancel();
    await exorciseGhosts(fleet);
    await expectWhole(fleet.client);
    await node();
  });

  test('100 items on 10 nodes, one fails: 90 done; the resume runs only its 10 items', async () => {
    let failed = 0;
    const stops = [];
    for (let i = 0; i < 9; i++) stops.push(await fleet.node());
    stops.push(
      await fleet.node({
        ...functionsOf({ echo: (args, call) => (failed < 10 ? (failed++, { exitCode: 1 }) : echo.echo(args, call)) }),
      }),
    );
    const execution = await run('echo', lists(100), { numberOfNodes: 10 });
    const view = await ended(execution);
    expect(view).toMatchObject({ state: 'done', round: 2, counts: { done: 100 } });
    const chunks = await execution.chunks();
    expect(chunks.filter(({ round }) => round === 2).map(({ items }) => items)).toEqual(lists(10).map(() => 1));
    expect(runs.all).toHaveLength(100);
    expect(failed).toBe(10);
    for (const stop of stops) await stop();
  });

  test('a node that drains hands back what it has not begun, at once and without an attempt', async () => {
    let hold = true;
    const first = await fleet.node(
      functionsOf({
        echo: async (args, call) => {
          runs.note(args, call);
          while (hold) await new Promise((go) => setTimeout(go, 5));
        },
      }),
    );
    const execution = await run('echo', lists(20));
    await eventually(() => runs.all.length === 1);
    const second = await fleet.node();
    const stopped = first();
    hold = false;
    await stopped;
    expect(await ended(execution)).toMatchObject({ state: 'done', counts: { done: 20 } });
    expect(runs.all).toHaveLength(20);
    for await (const item of execution.items()) expect(item.attempts).toBe(1);
    await second();
  });
});

describe('workflows that are lost', () => {
  beforeAll(async () => {
    fleet = await openFleet(echo, { leaseMs: 1_000, startupDelayMs: 0 });
  });
  afterAll(() => fleet.stop());

  test('terminated on the way, and nobody is told: the sweeper begins it anew, and it adopts what is there [E7]', async () => {
    let hold = true;
    const node = await fleet.node(
      functionsOf({
        echo: async (args, call) => {
          runs.note(args, call);
          while (hold && args[0] === 'item-3') await new Promise((go) => setTimeout(go, 5));
          return 'ok';
        },
      }),
      { sweepEveryMs: 100 },
    );
    const executions = await Promise.all([run('echo', lists(6)), run('echo', lists(6)), run('echo', lists(6))]);
    for (const execution of executions) await eventually(async () => (await execution.progress()).counts.done === 3);
    const temporal = await fleet.client.temporal();
    for (const { id } of executions)
      await temporal.workflow.getHandle(executionWorkflowId(fleet.prefix, id)).terminate('the test');
    hold = false;
    await fleet.database.pool.query(`update execution set resume_at = clock() - interval '1 s'`);
    for (const execution of executions)
      expect(await ended(execution)).toMatchObject({ state: 'done', counts: { done: 6 } });
    await expectWhole(fleet.client);
    await node();
  });

  test('accepted by a client that died before it could start the workflow', async () => {
    const temporal = await fleet.client.temporal();
    const start = temporal.workflow.signalWithStart.bind(temporal.workflow);
    temporal.workflow.signalWithStart = () => Promise.reject(new Error('the process is gone'));
    const execution = await run('echo', lists(2));
    temporal.workflow.signalWithStart = start;
    await fleet.database.pool.query(`update execution set resume_at = clock() - interval '1 s' where state = 0`);
    const node = await fleet.node({}, { sweepEveryMs: 100 });
    expect(await ended(execution)).toMatchObject({ state: 'done' });
    await node();
  });
});
