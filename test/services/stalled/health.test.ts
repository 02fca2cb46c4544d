import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Health } from '../../../workers/metrics/health';
import { PollWatch } from '../../../workers/metrics/pollWatch';
import { createMetrics } from '../../../workers/metrics/server';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** What a worker says of Temporal and of its polls, by what these answer. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test('a Temporal that refuses is tolerated for as long as was said, and then unhealthy until it answers', async () => {
  let isAway = true;
  const askTemporal = (): Promise<void> => (isAway ? Promise.reject(new Error('it is away')) : Promise.resolve());
  const health = new Health({ pool: database.pool, askTemporal, silentMs: { temporal: 2_000 } });
  const temporal = async () => (await health.report()).parts.find(({ part }) => part === 'temporal')!;
  try {
    const failing = { error: 'it is away', failingSince: expect.any(String) };
    expect(await temporal()).toMatchObject({ ...failing, healthy: true });
    await eventually(async () => !(await temporal()).healthy, { timeoutMs: 15_000 });
    expect(await temporal()).toMatchObject(failing);
    isAway = false;
    expect(await temporal()).toEqual({ part: 'temporal', healthy: true, failingSince: null, error: null });
  } finally {
    health.stop();
  }
});

/** As the SDK tells of one poll for activities, which is open. */
const COUNTERS = 'temporal_long_request_total{operation="PollActivityTaskQueue",task_queue="q/handler/x"} 1\n';

test('how long a poll has not been answered is told for each kind: workflow tasks and activities', async () => {
  const sdk = createServer((_, response) => response.end(COUNTERS)).listen(0, '127.0.0.1');
  await once(sdk, 'listening');
  const polls = new PollWatch(`http://127.0.0.1:${(sdk.address() as AddressInfo).port}`);
  const { registry, health } = createMetrics({ pool: database.pool, health: { polls } });
  const ages = async (): Promise<Record<string, number>> => {
    const found = (await registry.metrics()).matchAll(/^muster_poll_age_seconds\{kind="(\w*)"\} (\S+)$/gm);
    return Object.fromEntries([...found].map(([, kind, seconds]) => [kind, Number(seconds)]));
  };
  try {
    await health.report();
    await eventually(async () => (await ages())['activities']! > 0.1, { timeoutMs: 15_000 });
    expect(await ages()).toEqual({ workflow: 0, activities: expect.any(Number) });
  } finally {
    health.stop();
    sdk.close();
  }
});
