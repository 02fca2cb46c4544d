import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HealthOptions } from '../../../workers/metrics/health';
import { Health } from '../../../workers/metrics/health';
import { PollWatch, SinceError } from '../../../workers/metrics/pollWatch';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

/** What a process says of its polls, by the counters of the SDK and a clock of the test. */

const realNow = performance.now.bind(performance);
let passedMs = 0;
let sdk: Server;
let counters = '';
beforeAll(async () => {
  sdk = createServer((_, response) => response.end(counters)).listen(0, '127.0.0.1');
  await once(sdk, 'listening');
});
beforeEach(() => {
  passedMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => realNow() + passedMs);
});
afterEach(() => void jest.restoreAllMocks());
afterAll(() => {
  sdk.closeAllConnections();
  sdk.close();
});

interface Polls {
  started: number;
  returned: number;
  answered?: number;
}
const OPERATION = 'operation="PollActivityTaskQueue"';
/** As the SDK tells of polls for activities, by task queue. */
const told = (queues: Readonly<Record<string, Polls>>): string =>
  Object.entries(queues)
    .flatMap(([queue, { started, returned, answered = 0 }]) => [
      `temporal_long_request_total{${OPERATION},task_queue="${queue}"} ${started}`,
      `temporal_long_request_latency_seconds_count{${OPERATION},task_queue="${queue}"} ${returned}`,
      `temporal_activity_task_received_total{task_queue="${queue}"} ${answered}`,
    ])
    .join('\n');

test('of several task queues in trouble the one is told that has been for the longest', async () => {
  const watch = new PollWatch(`http://127.0.0.1:${(sdk.address() as AddressInfo).port}`);
  const check = (atMs: number, queues: Readonly<Record<string, Polls>>): Promise<unknown> => {
    passedMs = atMs;
    counters = told(queues);
    return watch.check().then(
      () => null,
      (error: unknown) => error,
    );
  };
  const open = { started: 1, returned: 0 };
  const refused = (times: number): Polls => ({ started: times, returned: times });
  expect(await check(0, { first: open, second: open })).toBeNull();
  expect(await check(10_000, { first: open, second: refused(2) })).toBeNull();
  expect(await check(20_000, { first: refused(2), second: refused(3) })).toBeNull();

  const both = await check(55_000, { first: refused(3), second: refused(4) });
  expect(both).toBeInstanceOf(SinceError);
  expect(both).toMatchObject({ message: expect.stringMatching(/task queue second are refused/) });
  expect(Date.now() - (both as SinceError).since.getTime()).toBeGreaterThan(44_000);

  const well = { started: 6, returned: 5, answered: 1 };
  const one = await check(60_000, { first: refused(4), second: well });
  expect(one).toMatchObject({ message: expect.stringMatching(/task queue first are refused/) });
  expect(await check(61_000, { first: well, second: well })).toBeNull();
});

describe('of the parts of a process', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  const since = new Date('2026-01-02T03:04:05Z');
  const away = (): Promise<never> => Promise.reject(new Error('it is away'));
  const dead = (): never => {
    throw new Error('it has ended');
  };
  const polls = (check: () => Promise<void>): PollWatch => ({ check }) as unknown as PollWatch;
  const hanging = polls(() => Promise.reject(new SinceError('polls hang', since)));

  test.each<[string | null, Partial<HealthOptions>, object]>([
    ['temporal', { askTemporal: away }, { error: 'it is away' }],
    ['workers', { checkWorkers: dead }, { error: 'it has ended' }],
    ['polls', { polls: hanging }, { error: 'polls hang', failingSince: since.toISOString() }],
    [null, {}, {}],
  ])('the one that fails is named, and none beside it: %s', async (name, failing, expected) => {
    const health = new Health({
      pool: database.pool,
      askTemporal: () => Promise.resolve(),
      checkWorkers: () => undefined,
      polls: polls(() => Promise.resolve()),
      silentMs: { temporal: 0 },
      ...failing,
    });
    try {
      const { healthy, parts } = await health.report();
      expect(parts.map(({ part }) => part).sort()).toEqual(['database', 'polls', 'temporal', 'turns', 'workers']);
      const failed = name === null ? [] : [expect.objectContaining({ part: name, ...expected })];
      expect(parts.filter((part) => !part.healthy)).toEqual(failed);
      expect(healthy).toBe(name === null);
    } finally {
      health.stop();
    }
  });
});
