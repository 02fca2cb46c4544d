import type { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startTemporalDev, type TemporalDev, type TemporalDevOptions } from '../../workers/embedded';
import { serverArguments } from '../../workers/embedded/devServerCommand';
import { choosePorts } from '../../workers/embedded/ports';
import { isRunning, removeTemporary, temporaryDirectory } from './helpers';
import { connectTo } from '../helpers/database';

const started: TemporalDev[] = [];
const connections: Connection[] = [];

/**
 * Starts a server that is stopped after the test. Tests talk to loopback and to the
 * package index only.
 */
async function start(options: TemporalDevOptions = {}): Promise<TemporalDev> {
  const server = await startTemporalDev(options);
  started.push(server);
  return server;
}

async function connect({ address }: TemporalDev): Promise<Connection> {
  const connection = await connectTo({ address });
  connections.push(connection);
  return connection;
}

const portOf = (address: string): string => /:(\d+)$/.exec(address)![1]!;

const startWorkflow = (connection: Connection, namespace: string, workflowId: string) =>
  connection.workflowService.startWorkflowExecution({
    ...{ namespace, workflowId, requestId: workflowId },
    ...{ workflowType: { name: 'any' }, taskQueue: { name: 'queue' } },
  });

afterEach(async () => {
  await Promise.all(connections.splice(0).map((connection) => connection.close()));
  await Promise.all(started.splice(0).map((server) => server.stop()));
});
afterAll(removeTemporary);

test('two start side by side, with namespace, search attributes, Web UI and metrics, and are gone at stop', async () => {
  const lines: string[] = [];
  const searchAttributes = { MusterTargets: 'Int', MusterHandler: 'Keyword' };
  const log = (line: string) => lines.push(line);
  const [one, two] = await Promise.all([start({ ui: true, namespace: 'muster', searchAttributes, log }), start()]);
  expect(one.address).not.toBe(two.address);
  expect(one.namespace).toBe('muster');
  expect(two).toMatchObject({ namespace: 'default', uiUrl: undefined });
  expect(lines).toContainEqual(expect.stringMatching(/^Temporal CLI: using .*, from /));

  const attributes = await (await connect(one)).operatorService.listSearchAttributes({ namespace: 'muster' });
  expect(Object.keys(attributes.customAttributes ?? {})).toEqual(expect.arrayContaining(Object.keys(searchAttributes)));
  expect((await fetch(one.uiUrl as string)).status).toBe(200);
  expect(await (await fetch(one.metricsUrl)).text()).toContain('service_requests');
  await startWorkflow(await connect(two), 'default', 'at-once');

  await one.stop();
  expect([one, two].map(({ pid }) => isRunning(pid))).toEqual([false, true]);
});

test('those started at once that want the same ports have ports of their own, and none takes another for itself', async () => {
  const usual = await choosePorts({ port: {}, uiPort: {} });
  const servers = await Promise.all([1, 2, 3, 4].map(() => start({ ui: true, usualPorts: usual })));
  expect(new Set(servers.flatMap(({ address, uiUrl }) => [portOf(address), portOf(uiUrl!)])).size).toBe(8);
  for (const [index, server] of servers.entries()) await startWorkflow(await connect(server), 'default', `of-${index}`);
  for (const [index, { uiUrl }] of servers.entries()) {
    const found = await fetch(`${uiUrl}/api/v1/namespaces/default/workflows/of-${index}`);
    expect(found.status).toBe(200);
  }
});

test('a file keeps the workflows over a stop and over a crash', async () => {
  const dbFilename = join(temporaryDirectory(), 'not', 'there', 'temporal.db');
  const first = await start({ dbFilename });
  await startWorkflow(await connect(first), 'default', 'one');
  await first.stop();

  const second = await start({ dbFilename });
  await startWorkflow(await connect(second), 'default', 'two');
  second.kill();
  expect(await second.exited).toMatchObject({ signal: 'SIGKILL' });

  const { workflowService } = await connect(await start({ dbFilename }));
  for (const workflowId of ['one', 'two']) {
    const { workflowExecutionInfo } = await workflowService.describeWorkflowExecution({
      namespace: 'default',
      execution: { workflowId },
    });
    expect(workflowExecutionInfo?.type?.name).toBe('any');
  }
});

test('a timer of 200 ms fires then, not at a full second', async () => {
  const connection = await connect(await start());
  const { workflowService } = connection;
  const identity = 'test';
  const poll = () =>
    connection.withDeadline(Date.now() + 20_000, () =>
      workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: 'queue' }, identity }),
    );
  const timer: temporal.api.command.v1.ICommand = {
    commandType: temporal.api.enums.v1.CommandType.COMMAND_TYPE_START_TIMER,
    startTimerCommandAttributes: { timerId: '1', startToFireTimeout: { nanos: 200_000_000 } },
  };
  const timed = async (workflowId: string): Promise<number> => {
    await startWorkflow(connection, 'default', workflowId);
    const { taskToken } = await poll();
    await workflowService.respondWorkflowTaskCompleted({
      namespace: 'default',
      taskToken,
      identity,
      commands: [timer],
    });
    const fired = await poll();
    await workflowService.respondWorkflowTaskCompleted({ namespace: 'default', taskToken: fired.taskToken, identity });
    const execution = { workflowId };
    const history = await workflowService.getWorkflowExecutionHistory({ namespace: 'default', execution });
    const timeOf = (attributes: 'timerStartedEventAttributes' | 'timerFiredEventAttributes') => {
      const time = history.history?.events?.find((event) => event[attributes])?.eventTime;
      return Number(time?.seconds) * 1000 + Number(time?.nanos) / 1e6;
    };
    return timeOf('timerFiredEventAttributes') - timeOf('timerStartedEventAttributes');
  };
  // The fastest of five: a busy machine delays some; without our setting every one of them fires at
  // a second.
  const tookMs: number[] = [];
  for (let i = 0; i < 5 && !(tookMs.at(-1)! < 900); i++) tookMs.push(await timed(`timed-${i}`));
  for (const ms of tookMs) expect(ms).toBeGreaterThanOrEqual(199);
  expect(Math.min(...tookMs)).toBeLessThan(900);
});

test('the dynamic configuration is ours with what is given over it, as JSON', () => {
  const dynamicConfig = { 'frontend.rps': 5, 'matching.longPollExpirationInterval': '2s' };
  const line = serverArguments(
    { dynamicConfig },
    { port: 1, uiPort: 2, innerUiPort: 4, innerUiHost: '127.0.0.1', metricsPort: 3 },
  );
  const settings = line.filter((_, index) => line[index - 1] === '--dynamic-config-value');
  expect(settings).toEqual(expect.arrayContaining(['history.timerProcessorMaxTimeShift="10ms"', 'frontend.rps=5']));
  expect(settings).toContain('matching.numTaskqueueReadPartitions=1');
  expect(settings).toContain('matching.numTaskqueueWritePartitions=1');
  // What these are for shows in `npm run test:liveness -- --only herd --herd 7m` only.
  expect(settings).toContain('history.cacheNonUserContextLockTimeout="10s"');
  expect(settings).toContain('matching.longPollExpirationInterval="2s"');
  expect(settings.filter((setting) => setting.startsWith('frontend.rps='))).toHaveLength(1);
});

test('what cannot work is refused with the last lines of the server', async () => {
  await expect(start({ uiPort: 0 })).rejects.toThrow('uiPort: expected an integer from 1 to 65535, got 0');
  const nonsense = start({ searchAttributes: { Muster: 'Nonsense' } });
  await expect(nonsense).rejects.toThrow(
    /The Temporal dev server did not start: it ended with code 1.*Nonsense.*Remedy:/s,
  );

  const holder = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => holder.once('listening', resolve));
  try {
    const { port } = holder.address() as AddressInfo;
    await expect(start({ port })).rejects.toThrow(
      `port: expected a free port on 127.0.0.1, got ${port}, which another program listens on; leave it out, or stop`,
    );
  } finally {
    holder.close();
  }
});
