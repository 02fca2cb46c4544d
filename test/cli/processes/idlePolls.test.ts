import { setTimeout as sleep } from 'node:timers/promises';
import type { TemporalDev } from '../../../workers/embedded';
import { startTemporalDev } from '../../../workers/embedded';
import type { HealthReport, PartHealth } from '../../../workers/metrics/health';
import { POLL_HANGS_MS, TEMPORAL_SILENT_MS } from '../../../workflows/planning/liveness';
import { eventually } from '../../helpers/eventually';
import { temporalAddress } from '../../helpers/database';
import { rounds } from '../../helpers/long';
import { freePort } from '../../helpers/machine/freePort';
import type { PollSwallower } from '../../helpers/pollSwallower';
import { startPollSwallower } from '../../helpers/pollSwallower';
import type { World } from '../world';
import { createWorld } from '../world';

/**
 * What `/healthz` of a worker process without any work says of its polls.
 *
 * @full
 */

let world: World;
let temporal: TemporalDev;
let swallower: PollSwallower;
/** Of a worker whose polls hang; begins before all tests, since it takes a while. */
let hung: Promise<{ polls: PartHealth; afterMs: number }>;
beforeAll(async () => {
  [world, temporal, swallower] = await Promise.all([
    createWorld(),
    startTemporalDev(),
    startPollSwallower(temporalAddress()),
  ]);
  const health = await startWorker(swallower.address);
  const begunAt = performance.now();
  hung = eventually(async () => ((one) => !one.healthy && one)(await health('polls')), {
    timeoutMs: 2 * POLL_HANGS_MS,
    everyMs: 1_000,
    what: 'polls that are told to hang',
  }).then((polls) => ({ polls, afterMs: performance.now() - begunAt }));
  hung.catch(() => undefined); // awaited by its test
});
afterAll(async () => {
  await world.close();
  await swallower.stop();
  await temporal.stop();
});

/** A worker that has begun to poll; answers how to ask it, part by part. */
const startWorker = async (address: string): Promise<(part: PartHealth['part']) => Promise<PartHealth>> => {
  const port = await freePort();
  const env = { TEMPORAL_ADDRESS: address, MUSTER_PREFIX: `idle-${port}` };
  const worker = world.start(`worker --metrics-port ${port}`, env);
  await worker.says(/"msg":"ready"/);
  return async (part) => {
    const report = (await (await fetch(`http://127.0.0.1:${port}/healthz`)).json()) as HealthReport;
    return report.parts.find((one) => one.part === part)!;
  };
};

/** Longer than keepalives let a connection be without a sign, so that its polls are cut off. */
const STOPPED_MS = 60_000;
/**
 * A poll that reached the server when it was back: its client ends it 70 s after it began, and the
 * next one has its minute. In the short form it is long enough to be told to hang: 15 s for the
 * poll to begin, and 75 s.
 */
const ANSWERED_MS = rounds(95_000, 120_000);

test('Temporal was away: idle polls that wait their time again are not said to hang', async () => {
  const health = await startWorker(temporal.address);
  expect((await health('polls')).healthy).toBe(true);
  process.kill(temporal.pid, 'SIGSTOP');
  try {
    await sleep(STOPPED_MS); // the length of the fault
    expect(STOPPED_MS).toBeGreaterThan(TEMPORAL_SILENT_MS);
    expect((await health('temporal')).healthy).toBe(false);
  } finally {
    process.kill(temporal.pid, 'SIGCONT');
  }
  await eventually(async () => (await health('temporal')).healthy);
  const said = new Set<string>();
  for (const endMs = performance.now() + ANSWERED_MS; performance.now() < endMs; await sleep(1_000)) {
    const polls = await health('polls');
    if (!polls.healthy) said.add(polls.error!);
  }
  expect([...said]).toEqual([]);
});

test('a server that answers everything but polls: they are told to hang', async () => {
  const { polls, afterMs } = await hung;
  expect(polls.error).toMatch(
    /^polls of (workflow tasks|activities) on task queue idle-\S+ hang: none was answered for \d+ s/,
  );
  expect(afterMs).toBeGreaterThan(60_000);
});
