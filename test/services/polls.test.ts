import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { startTemporalDev } from '../../workers/embedded';
import { freePort } from '../helpers/machine/freePort';
import { localUrl, PollWatch, SinceError } from '../../workers/metrics/pollWatch';
import { POLL_REFUSED_MS } from '../../workflows/planning/liveness';
import { eventually } from '../helpers/eventually';
import { prebuiltBundle } from '../helpers/prebuilt';

/**
 * What a worker's polls come to, by the SDK's own counters, against servers that refuse, stop and
 * die.
 *
 * @full
 */

describe('of a real worker', () => {
  let url: string;
  const filters: Server[] = [];
  /** Side by side, since each takes half a minute of waiting; a test waits for its own. */
  let refused: Promise<{ message: string; ms: number; age: number }>;
  let killed: Promise<{ error: SinceError; killedAt: number }>;
  beforeAll(async () => {
    const port = await freePort();
    const bindAddress = `127.0.0.1:${port}`;
    Runtime.install({
      logger: new DefaultLogger('ERROR'),
      telemetryOptions: {
        metrics: {
          prometheus: { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true },
        },
      },
    });
    url = localUrl(bindAddress);
    refused = refusing();
    killed = killing();
    await Promise.allSettled([refused, killed]);
  });
  afterAll(() => filters.forEach((filter) => filter.close()));

  /** Watches the polls of one task queue only: the counters are of the whole process. */
  const watchOf = async (taskQueue: string): Promise<PollWatch> => {
    const filter = createServer((_, response) => {
      void fetch(url)
        .then((answer) => answer.text())
        .then((text) => text.split('\n').filter((line) => line.includes(`task_queue="${taskQueue}`)))
        .then((lines) => response.end(lines.join('\n')))
        .catch(() => response.destroy());
    });
    filters.push(filter.listen(0, '127.0.0.1'));
    await once(filter, 'listening');
    return new PollWatch(`http://127.0.0.1:${(filter.address() as AddressInfo).port}`);
  };
  const poll = async (taskQueue: string, address: string): Promise<() => Promise<void>> => {
    const connection = await NativeConnection.connect({ address });
    const few = { type: 'autoscaling' as const, minimum: 1, initial: 1 };
    const worker = await Worker.create({
      connection,
      taskQueue,
      workflowBundle: prebuiltBundle,
      activities: { nothing: () => Promise.resolve() },
      workflowTaskPollerBehavior: few,
      activityTaskPollerBehavior: few,
      shutdownForceTime: '1s',
    });
    const running = worker.run().catch(() => undefined);
    return async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await running;
      await connection.close().catch(() => undefined);
    };
  };
  /** What a reading says. */
  const sick = (watch: PollWatch): Promise<SinceError> =>
    eventually(
      () =>
        watch.check().then(
          () => false as const,
          (error: Error) => error instanceof SinceError && error, // not a reading that failed
        ),
      { timeoutMs: 90_000, everyMs: 1_000, what: 'polls to be told sick' },
    );

  const refusing = async (): Promise<Awaited<typeof refused>> => {
    const server = await startTemporalDev({ dynamicConfig: { 'frontend.namespaceCount': 0 } });
    const stop = await poll('refused', server.address);
    const watch = await watchOf('refused');
    const startedAt = performance.now();
    try {
      const { message } = await sick(watch);
      const age = Math.max(...watch.ages().map(({ seconds }) => seconds));
      return { message, ms: performance.now() - startedAt, age };
    } finally {
      await stop();
      await server.stop();
    }
  };
  test('a server that refuses polls by its limits, and answers everything else, is told within a minute', async () => {
    const { message, ms, age } = await refused;
    expect(message).toMatch(/polls of (workflow tasks|activities) on task queue refused are refused/);
    expect(ms).toBeGreaterThan(POLL_REFUSED_MS);
    expect(age).toBeGreaterThan(25);
  });

  const killing = async (): Promise<Awaited<typeof killed>> => {
    const server = await startTemporalDev();
    const stop = await poll('killed', server.address);
    const watch = await watchOf('killed');
    try {
      await eventually(async () => {
        await watch.check().catch(() => undefined);
        return watch.ages().every(({ seconds }) => seconds > 0);
      });
      process.kill(server.pid, 'SIGKILL');
      const killedAt = Date.now();
      return { error: await sick(watch), killedAt };
    } finally {
      await stop();
      await server.stop();
    }
  };
  test('one that is killed is told, with since when', async () => {
    const { error, killedAt } = await killed;
    expect(error.message).toMatch(/queue killed .*refused, or find no server/);
    expect(error.since.getTime()).toBeGreaterThanOrEqual(killedAt - 1_000);
  });
});
