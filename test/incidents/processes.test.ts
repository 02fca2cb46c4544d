import type { CliProcess } from '../cli/process';
import type { Proxy } from '../helpers/proxy';
import { startProxy, startProxyOf } from '../helpers/proxy';
import { temporalAddress } from '../helpers/database';
import type { IncidentWorld, Signs } from './world';
import { act, ends, expectOver, expectSeen, openIncidents } from './world';

/**
 * What goes wrong with processes, networks and receivers: seen and ended through the HTTP API.
 *
 * @full
 */

let world: IncidentWorld;
let toTemporal: Proxy;
let toPostgres: Proxy;
let worker: CliProcess;
const start = (): Promise<CliProcess> =>
  world.worker({
    TEMPORAL_ADDRESS: `127.0.0.1:${toTemporal.port}`,
    MUSTER_DATABASE_URL: toPostgres.through(world.databaseUrl),
  });

beforeAll(async () => {
  world = await openIncidents();
  const [host, port] = temporalAddress().split(':');
  toTemporal = await startProxy(host!, Number(port));
  toPostgres = await startProxyOf(world.databaseUrl);
  worker = await start();
});
afterAll(async () => {
  await world.stop();
  await toTemporal.stop();
  await toPostgres.stop();
});
beforeEach(() => world.quiet());

test('an execution that no node can run', async () => {
  const { request_id: id } = (
    await world.call('POST /v1/executions', {
      body: { template: { function_id: 'resize', method: 'run' }, arguments: [['a']] },
    })
  ).body as { request_id: string };
  const signs: Signs = {
    alert: ['MusterExecutionsWait', {}],
    finding: /^1 execution without a node/,
  };
  await expectSeen(world, signs);
  await act(world, `POST /v1/executions/${id}/cancel`);
  await expectOver(world, signs);
});

test('a receiver of callbacks that refuses them: they are sent again once it takes them', async () => {
  world.answer('hook', () => ({ status: 500 }));
  await act(world, 'POST /v1/handlers/orders/tasks', {
    tasks: [{ id: 'told', payload: { to: 'told' }, callback: { url: `${world.downstreamUrl}/hook` } }],
  });
  const signs: Signs = {
    alert: ['MusterCallbacksUndelivered', { state: 'retrying' }],
    finding: /^1 callback not delivered/,
  };
  await expectSeen(world, signs);
  world.answer('hook', () => ({ status: 200 }));
  await act(world, 'POST /v1/callbacks:send');
  await expectOver(world, signs);
});

test('a worker that stands still, with its connections open', async () => {
  process.kill(worker.child.pid!, 'SIGSTOP');
  await world.submit('orders', 'stopped', 'stopped');
  const signs: Signs = {
    alert: ['MusterNoWorker', { handler: 'orders' }],
    finding: /^orders has no worker: 1 task waiting/,
    explain: ['stopped', /no live worker serves/],
  };
  await expectSeen(world, signs);
  process.kill(worker.child.pid!, 'SIGCONT');
  await ends(world, 'stopped', 'succeeded');
  await expectOver(world, signs);
});

test('the last worker was killed', async () => {
  worker.child.kill('SIGKILL');
  await worker.exit;
  await world.submit('orders', 'killed', 'killed');
  const signs: Signs = {
    alert: ['MusterNoWorker', { handler: 'orders' }],
    finding: /^orders has no worker: 1 task waiting/,
    explain: ['killed', /no live worker/i],
  };
  await expectSeen(world, signs);
  worker = await start();
  await ends(world, 'killed', 'succeeded');
  await expectOver(world, signs);
});

test('Temporal cannot be reached', async () => {
  toTemporal.stall();
  await world.submit('orders', 'cut', 'cut');
  const signs: Signs = {
    alert: ['MusterUnhealthy', { part: 'temporal' }],
    finding: /^orders: 1 workflow stalled/,
    explain: ['cut', /has stalled: it was woken .* ago and has taken no turn/],
  };
  await expectSeen(world, signs);
  toTemporal.resume();
  await ends(world, 'cut', 'succeeded');
  await expectOver(world, signs);
});

test('a worker that cannot reach Postgres', async () => {
  toPostgres.stall();
  await world.submit('orders', 'no-store', 'no-store');
  const signs: Signs = {
    alert: ['MusterUnhealthy', { part: 'database' }],
    finding: /^No worker runs/,
    explain: ['no-store', /no live worker/i],
  };
  await expectSeen(world, signs);
  toPostgres.resume();
  await ends(world, 'no-store', 'succeeded');
  await expectOver(world, signs);
});
