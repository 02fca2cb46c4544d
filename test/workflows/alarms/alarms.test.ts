import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { REQUEST_PACE, Requests } from '../../../workflows/temporal/requests';
import { Alarms } from '../../../workers/temporal/alarms';

/**
 * Alarms of one worker process: when they ring, and when not.
 *
 * @slow
 */

const logged: string[] = [];
const open = ({ fails = false } = {}) => {
  const rung: string[] = [];
  const warned: string[] = [];
  const requests = new Requests({
    withDeadline: (_deadline: number, work: () => Promise<unknown>) => work(),
    workflow: {
      getHandle: (workflowId: string, runId: string) => ({
        signal: ({ name }: { name: string }) => {
          rung.push(`${name} ${workflowId} ${runId}`);
          return fails ? Promise.reject(new Error('away')) : Promise.resolve();
        },
      }),
    },
  } as unknown as Client);
  const log = {
    debug: (...said: unknown[]) => void logged.push(String(said[1])),
    warn: (...said: unknown[]) => void warned.push(String(said[1])),
  };
  const alarms = new Alarms(requests, log as never);
  const { set, clear } = alarms.sinks.alarm;
  const run = (no: number) => ({ workflowId: 'w', runId: `r${no}` }) as Parameters<typeof set.fn>[0];
  return {
    alarms,
    rung,
    warned,
    requests,
    set: (no: number, ms: number) => set.fn(run(no), ms, 'orders'),
    clear: (no: number) => clear.fn(run(no)),
  };
};

test('each run is woken once, at its last alarm', async () => {
  const { alarms, rung, requests, set } = open();
  alarms.noteTimers(1_000);
  void set(1, 10);
  void set(1, 60);
  void set(2, 30);
  await sleep(20);
  expect(rung).toEqual([]);
  await sleep(100);
  expect(rung).toEqual(['look w r2', 'look w r1']);
  expect(requests.counts()).toEqual([{ kind: 'alarm', handler: 'orders', n: 2 }]);
});

test.each<[string, (world: ReturnType<typeof open>) => void]>([
  ['nothing is known of the timers', ({ set }) => void set(1, 5)],
  ['they are in time', ({ alarms, set }) => (alarms.noteTimers(20), void set(1, 5))],
  ['the wait has ended', ({ alarms, set, clear }) => (alarms.noteTimers(1_000), void set(1, 5), void clear(1))],
  ['the worker stops', ({ alarms, set }) => (alarms.noteTimers(1_000), void set(1, 5), alarms.stop(), void set(2, 5))],
])('none rings if %s', async (_, act) => {
  const world = open();
  act(world);
  await sleep(40);
  expect(world.rung).toEqual([]);
});

test('a timer that is 1.5 s late was lost: its run is woken; once per minute a line says so', async () => {
  const { alarms, rung, warned, set, clear } = open();
  alarms.noteTimers(20);
  void set(1, 5);
  void set(2, 300);
  void set(3, 5);
  void set(4, 5);
  void set(5, 2 ** 31); // would be at once for a timer of Node
  void clear(3);
  await sleep(1_400);
  expect(rung).toEqual([]);
  alarms.noteTimers(1_000);
  void set(6, 1_000); // ends up to a second late on such a server
  await sleep(250);
  expect(rung).toEqual(['look w r1', 'look w r4']);
  await sleep(300);
  expect(rung).toEqual(['look w r1', 'look w r4', 'look w r2']);
  expect(warned).toEqual([expect.stringContaining('is late, so this worker wakes its run')]);
});

test('a process that was behind itself first does what has come meanwhile', async () => {
  const { alarms, rung, set, clear } = open();
  alarms.noteTimers(20);
  void set(1, 5);
  void set(2, 5);
  const until = performance.now() + 2_200;
  while (performance.now() < until); // as if it was stopped
  await sleep(50);
  expect(rung).toEqual([]);
  void clear(1);
  await sleep(1_600);
  expect(rung).toEqual(['look w r2']);
});

test('a signal whose turn comes after its wait has ended is left out', async () => {
  const { alarms, rung, requests, set, clear } = open();
  alarms.noteTimers(1_000);
  const all = REQUEST_PACE.burst + REQUEST_PACE.perSecond / 10;
  const others = Array.from({ length: all }, () => requests.send({ kind: 'queuer' }, () => Promise.resolve()));
  void set(1, 5);
  await sleep(40); // its signal waits for its turn
  void clear(1);
  await Promise.all(others);
  await sleep(40);
  expect(rung).toEqual([]);
});

test('a signal that fails is not repeated: the run has its timer', async () => {
  const { alarms, rung, set } = open({ fails: true });
  alarms.noteTimers(1_000);
  void set(1, 5);
  await sleep(60);
  expect([rung.length, logged]).toEqual([1, ['a run was not woken in time; its timer wakes it']]);
});
