import { MusterError } from '../../../client';
import type { MinuteOutcomes, OutcomePage } from '../../../client';
import { OutcomeMinutes } from '../../../activities/outcomes/minutes';
import { OutcomeWriter } from '../../../activities/outcomes/writer';
import { Retention } from '../../../postgres/sweeper/retention';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startTroubled, trouble } from './troubled';

/** What calls and tasks came to, per handler and minute, as the workers add it up. */

let muster: TestMuster;
beforeAll(async () => {
  muster = await startTroubled(
    { keepOutcomesMs: 30 * 86_400_000 },
    {
      orders: [...trouble('fine', 'ok-1', 'ok-2', 'ok-3'), ...trouble('bad', 'bad-1'), ...trouble('again', 'again-1')],
    },
  );
}, 120_000);
afterAll(() => muster.stop());

const silent = { debug: () => undefined };
const rows = async (handler: string): Promise<MinuteOutcomes[]> =>
  (await muster.client.outcomes.list({ handler })).outcomes;
const total = (list: readonly MinuteOutcomes[], read: (one: MinuteOutcomes) => number): number =>
  list.reduce((sum, one) => sum + read(one), 0);

test('a worker adds its calls and ends within seconds', async () => {
  const list = await eventually(async () => {
    const found = await rows('orders');
    return total(found, ({ ends }) => ends.succeeded + ends.failed + ends.retried) === 5 && found;
  });
  expect(total(list, ({ ends }) => ends.succeeded)).toBe(3);
  expect(total(list, ({ ends }) => ends.failed)).toBe(1);
  expect(total(list, ({ ends }) => ends.retried)).toBe(1);
  const calls = total(list, (one) => one.calls.results);
  expect(calls).toBeGreaterThanOrEqual(3);
  expect(total(list, ({ tasks }) => tasks)).toBe(5);
  for (const read of ['latency', 'sizes'] as const)
    expect(total(list, (one) => one[read].reduce((sum, n) => sum + n, 0))).toBe(calls);
  expect(total(list, ({ reasons }) => reasons.linger)).toBe(calls);
  expect(list[0]).toMatchObject({ handler: 'orders', minute: expect.stringMatching(/:00\.000Z$/) });
  expect(list[0]!.p50Ms).toBeLessThanOrEqual(list[0]!.p99Ms!);
});

const call = { handler: 'final', outcome: 'results', ms: 30, tasks: 7, reason: 0 } as const;

test('many processes share the row of a minute, and none of their counts is lost', async () => {
  const { pool } = muster.database;
  const writers = Array.from({ length: 4 }, () => {
    const minutes = new OutcomeMinutes();
    return { minutes, writer: new OutcomeWriter(pool, minutes, silent) };
  });
  for (let round = 0; round < 25; round++)
    await Promise.all(
      writers.map(({ minutes, writer }) => {
        minutes.called(call);
        minutes.called({ ...call, handler: 'orders', outcome: 'later', reason: null });
        minutes.ended('final', new Map([['succeeded', 7]]));
        return writer.write();
      }),
    );
  const list = await rows('final');
  expect(list.length).toBeLessThanOrEqual(2); // a minute may end meanwhile
  expect(total(list, ({ calls }) => calls.results)).toBe(100);
  expect(total(list, ({ ends }) => ends.succeeded)).toBe(700);
  expect(total(list, ({ latency }) => latency[2]!)).toBe(100); // above 20, up to 50 ms
  expect(total(list, ({ sizes }) => sizes[3]!)).toBe(100);
  expect(total(list, ({ callMs }) => callMs)).toBe(3_000);
  expect(total(await rows('orders'), ({ calls }) => calls.later)).toBe(100);
});

test('what was certainly not written is written later; a worker that stops writes the rest', async () => {
  const { pool } = muster.database;
  const minutes = new OutcomeMinutes();
  const writer = new OutcomeWriter(pool, minutes, silent);
  const before = total(await rows('final'), ({ calls }) => calls.unknown);
  minutes.called({ ...call, outcome: 'unknown' });
  await pool.query('alter table outcome_minute rename to away');
  await writer.write();
  await pool.query('alter table away rename to outcome_minute');
  expect(total(await rows('final'), ({ calls }) => calls.unknown)).toBe(before);
  minutes.called({ ...call, outcome: 'unknown' });
  await writer.stop();
  expect(total(await rows('final'), ({ calls }) => calls.unknown)).toBe(before + 2);
});

test('pages give each minute of each handler once, the newest first, within the times that are asked for', async () => {
  const { pool } = muster.database;
  await pool.query(`
insert into outcome_minute (handler_id, minute, calls, ends, latency, sizes, reasons, tasks, call_ms)
select h.id, date_trunc('minute', clock()) - i * interval '1 minute', '{1}', '{1}', '{1}', '{1}', '{1}', 1, 1
from handler h, generate_series(100, 109) i`);
  const { at } = await muster.client.outcomes.list({ limit: 1 });
  const minutesAgo = (n: number): Date => new Date(Date.parse(at) - n * 60_000);
  const scope = { since: minutesAgo(107), until: minutesAgo(102) };
  for (const limit of [1, 5, 1_000]) {
    const found: MinuteOutcomes[] = [];
    for (let after: string | undefined; ;) {
      const page: OutcomePage = await muster.client.outcomes.list({
        ...scope,
        limit,
        ...(after === undefined ? {} : { after }),
      });
      found.push(...page.outcomes);
      if (page.next === null) break;
      after = page.next;
    }
    expect(found).toHaveLength(2 * 6);
    expect(new Set(found.map(({ handler, minute }) => `${handler} ${minute}`)).size).toBe(12);
    const times = found.map(({ minute }) => minute);
    expect(times).toEqual(times.toSorted().reverse());
  }
  expect((await muster.client.outcomes.list({ ...scope, handler: 'final' })).outcomes).toHaveLength(6);
  expect(
    (await muster.client.outcomes.list({})).outcomes.every(({ minute }) => minute > minutesAgo(62).toISOString()),
  ).toBe(true);
  for (const wrong of [{ since: 'soon' }, { until: Number.NaN }, { limit: 0 }, { after: 'x' }, { handler: 'none' }])
    await expect(muster.client.outcomes.list(wrong)).rejects.toThrow(MusterError);
});

test('old minutes are deleted: by a worker after its setting, by default after 7 days', async () => {
  const { pool } = muster.database;
  await pool.query(`
insert into outcome_minute (handler_id, minute, calls, ends, latency, sizes, reasons, tasks, call_ms)
select h.id, date_trunc('minute', clock()) - i * interval '1 day', '{1}', '{1}', '{1}', '{1}', '{1}', 1, 1
from handler h, unnest(array[5, 6, 7, 8, 9, 40]) i where h.name = 'final'`);
  const count = async (): Promise<number> =>
    (await muster.client.outcomes.list({ handler: 'final', since: 0, until: Date.now() - 4 * 86_400_000 })).outcomes
      .length;
  await eventually(async () => (await count()) < 6);
  expect(await count()).toBe(5);
  await new Retention().deleteExpired(pool, 10);
  expect(await count()).toBeGreaterThanOrEqual(2);
  expect(await count()).toBeLessThanOrEqual(3); // the seventh day ends while this runs
  await new Retention(undefined, { keepOutcomesMs: 3_600_000 }).deleteExpired(pool, 10);
  expect(await count()).toBe(0);
});
