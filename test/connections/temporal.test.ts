import type { Connection } from '@temporalio/client';
import { Client as TemporalClient } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import pino from 'pino';
import { defineHandler } from '../../handlers';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { wakeLeaderWorkflows } from '../../workflows/wake';
import type { TemporalDev } from '../../workers/embedded';
import { startTemporalDev } from '../../workers/embedded';
import { warnOfCoarseTimers } from '../../workers/temporal/timerProbe';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { Proxy } from '../helpers/proxy';
import { startProxyOf } from '../helpers/proxy';
import { connectTo } from '../helpers/database';
import { Requests } from '../../workflows/temporal/requests';

/** @slow */

interface Work {
  to: string;
}
const ok = (batch: { tasks: readonly { id: string }[] }) =>
  Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
const target = (work: Work): string => work.to;
const jobs = defineHandler<Work>({ name: 'jobs', target, leaders: 'target', limits: { maxItems: 10 }, submit: ok });
const ordered = defineHandler<Work>({
  name: 'ordered',
  target,
  service: (to) => to,
  lane: { approach: 'serial' },
  limits: { maxItems: 10 },
  submit: ok,
});

/**
 * A second at most is promised for Temporal, and half of it is waited; the rest is what a loaded
 * machine takes. A wait of some seconds fails here, and without a limit it is two minutes.
 */
const BOUND_MS = 3_500;

let server: TemporalDev;
let proxy: Proxy;
let muster: TestMuster;
const clients: Client[] = [];
beforeAll(async () => {
  server = await startTemporalDev({ ui: false });
  proxy = await startProxyOf(`tcp://${server.address}`);
});
afterAll(async () => {
  process.kill(server.pid, 'SIGCONT');
  proxy.resume();
  for (const client of clients) await client.close();
  await muster.stop();
  await proxy.stop();
  await server.stop();
});

const clientAt = (address: string, failures: Error[]): Client => {
  const client = createClient({
    databaseUrl: muster.database.url,
    handlers: [jobs, ordered],
    prefix: muster.prefix,
    temporal: { address },
    onRingFailure: (error) => failures.push(error),
  });
  clients.push(client);
  return client;
};
const within = async <T>(work: Promise<T>): Promise<T> => {
  const begun = performance.now();
  const result = await work;
  expect(performance.now() - begun).toBeLessThan(BOUND_MS);
  return result;
};
const succeeded = (ids: string[]): Promise<unknown> =>
  eventually(async () => (await muster.client.getTasks(ids)).every(({ state }) => state === 'succeeded'), {
    timeoutMs: 90_000,
    what: `${ids.join(', ')} to succeed`,
  });

test('a search attribute that the server does not know costs a second request once, not with every wake', async () => {
  const connection = await connectTo({ address: server.address });
  let sent = 0;
  const temporal = new TemporalClient({
    connection,
    interceptors: {
      workflow: [
        {
          signalWithStart: (input, next) => {
            sent++;
            return next(input);
          },
        },
      ],
    },
  });
  const requests = new Requests(temporal);
  const leader = (leaderId: number) => ({ leaderId, handler: 'h', name: String(leaderId), dueInMs: 0 });
  expect(await wakeLeaderWorkflows(requests, 'without', [leader(1)])).toBeNull();
  expect(sent).toBe(2);
  expect(await wakeLeaderWorkflows(requests, 'without', [1, 2, 3, 4, 5].map(leader))).toBeNull();
  expect(sent).toBe(7);
  await connection.close();
});

test('a server whose timers are a second late is named at the start of a worker, and one that is in time is not', async () => {
  const late = await startTemporalDev({ ui: false, dynamicConfig: { 'history.timerProcessorMaxTimeShift': '1s' } });
  try {
    const lateMs: number[] = [];
    const warnings = async ({ address }: TemporalDev): Promise<string[]> => {
      const connection = await NativeConnection.connect({ address });
      const said: string[] = [];
      const log = pino({ level: 'warn' }, { write: (line: string) => void said.push(line) });
      const requests = new Requests(new TemporalClient({ connection }));
      const { signal } = new AbortController();
      const note = (ms: number): Promise<void> => Promise.resolve(void lateMs.push(ms));
      await warnOfCoarseTimers({ requests, prefix: 'probe', log, known: () => Promise.resolve(null), note, signal });
      const execution = { workflowId: 'probe/timer-probe' };
      const last = await connection.workflowService.describeWorkflowExecution({ namespace: 'default', execution });
      expect(last.workflowExecutionInfo?.closeTime ?? null).not.toBeNull(); // none is left open
      await connection.close();
      return said;
    };
    expect(await warnings(late)).toEqual([
      expect.stringMatching(/a timer of 100 ms took \d{3,} ms.*timerProcessorMaxTimeShift/),
    ]);
    expect(await warnings(server)).toEqual([]);
    expect([lateMs.length, lateMs[0]! >= 1_000, lateMs[1]! < 400]).toEqual([2, true, true]);
  } finally {
    await late.stop();
  }
});

test('a worker that starts while another measures the timers measures them after it', async () => {
  const connection = await NativeConnection.connect({ address: server.address });
  const client = new TemporalClient({ connection });
  const other = { taskQueue: 'none', workflowId: 'both/timer-probe' };
  const handle = await client.workflow.start('timerProbe', other);
  const stop = new AbortController();
  const noted: [ms: number, isMeasured: boolean][] = [];
  let found: number | null = null;
  const warned = warnOfCoarseTimers({
    ...{ requests: new Requests(client), prefix: 'both', log: pino({ enabled: false }), signal: stop.signal },
    known: () => Promise.resolve(found),
    note: (...args) => Promise.resolve(void noted.push(args)),
  });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(noted).toEqual([]);
  found = 740;
  await eventually(() => noted.length > 0, { timeoutMs: 10_000, what: 'what others found' });
  expect(noted[0]).toEqual([740, false]);
  await handle.terminate('measured');
  const limit = setTimeout(() => stop.abort(), 20_000);
  await warned;
  clearTimeout(limit);
  await connection.close();
  expect(noted.filter(([, isMeasured]) => isMeasured)).toEqual([noted.at(-1)]);
});

test('Temporal hangs: whatever is submitted returns once it is committed, and is sent when it goes on', async () => {
  muster = await startMuster([jobs, ordered], { address: server.address, sweepEveryMs: 500, leaseMs: 2_000 });
  const failures: Error[] = [];
  const client = clientAt(server.address, failures);
  await client.submit('jobs', { id: 'before', payload: { to: 'before' } });
  await succeeded(['before']);

  process.kill(server.pid, 'SIGSTOP');
  const ids = ['a', 'b', 'c'];
  for (const id of ids) await within(client.submit('jobs', { id, payload: { to: id } }));
  // Several at once: none waits for the others' wakes.
  await Promise.all(['d', 'e'].map((id) => within(client.submit('jobs', { id, payload: { to: id } }))));
  await within(client.submitBatch('ordered', 'po-1', [{ id: 'f', payload: { to: 'po-1' } }]));
  await within(client.resume('jobs'));
  await within(client.execute({ functionId: 'none', method: 'run' }, [['x']]));
  const { id: fanout } = await client.openFanout({ notify: { url: 'https://hooks.example.com/' } });
  await within(client.sealFanout(fanout));
  // A client that was never connected is no worse off.
  const late: Error[] = [];
  await within(clientAt(server.address, late).submit('jobs', { id: 'g', payload: { to: 'g' } }));
  const told = (): boolean => failures.length > 0 && late.length > 0;
  await eventually(told, { timeoutMs: 20_000, what: 'both clients to be told of wakes that failed' });

  process.kill(server.pid, 'SIGCONT');
  await succeeded([...ids, 'd', 'e', 'f', 'g']);
});

test('a connection to Temporal that is half open holds up no submit, and is asked for signs of life', async () => {
  const client = clientAt(`127.0.0.1:${proxy.port}`, []);
  await client.submit('jobs', { id: 'through', payload: { to: 'through' } });
  proxy.cut();
  await within(client.submit('jobs', { id: 'cut', payload: { to: 'cut' } }));
  await succeeded(['cut']);
  const { connection } = await client.temporal();
  expect((connection as Connection).options.channelArgs).toMatchObject({ 'grpc.keepalive_time_ms': 12_000 });
});

test('a ring failure handler that throws fails nothing', async () => {
  const client = createClient({
    databaseUrl: muster.database.url,
    handlers: [jobs],
    prefix: muster.prefix,
    temporal: { address: '127.0.0.1:9' },
    onRingFailure: () => {
      throw new Error('the caller’s own');
    },
  });
  clients.push(client);
  await within(client.submit('jobs', { id: 'h', payload: { to: 'h' } }));
  await succeeded(['h']);
});
