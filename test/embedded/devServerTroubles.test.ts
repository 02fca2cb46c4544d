import { temporal } from '@temporalio/proto';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { serverArguments } from '../../workers/embedded/devServerCommand';
import { freePorts } from '../helpers/machine/freePort';
import { DevServers, startWorkflow } from './devServers';
import { removeTemporary, temporaryDirectory } from './helpers';

/** Ports that several want, crashes, timers, and what is refused. @slow */

const { start, connect, stop } = new DevServers();
afterEach(stop);
afterAll(removeTemporary);

const portOf = (address: string): string => /:(\d+)$/.exec(address)![1]!;

test('those started at once that want the same ports have ports of their own, and none takes another for itself', async () => {
  const usual = await freePorts('port', 'uiPort');
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
