import { defineHandler } from '../../../handlers';
import { registerHandler } from '../../../postgres/grouping/handler';
import { touchNode } from '../../../postgres/nodes/node';
import { OverdueWakes } from '../../../workers/sweeper/overdueWakes';
import type { Requests } from '../../../workflows/temporal/requests';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

/** Which monitors the sweeper wakes whose work is overdue, and how often. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ max: 5 });
  for (const name of ['one', 'two'])
    await registerHandler(
      database.pool,
      defineHandler<{ to: string }>({
        name,
        target: ({ to }) => to,
        limits: { maxItems: 10 },
        submit: async () => ({ results: [] }),
      }),
    );
});
afterAll(() => database.drop());
const query = (text: string): Promise<unknown> => database.pool.query({ text });
beforeEach(async () => {
  await query('delete from cancellation');
  await query('delete from node');
});

/** Something that the handler's monitor had to do by then. */
const due = (handler: string, at: string): Promise<unknown> =>
  query(`insert into cancellation (batch_id, handler_id, reference, why, next_at, requested_at)
    select id, id, 'job', 0, ${at}, clock() - interval '1 hour' from handler where name = '${handler}'`);
const OVERDUE = `clock() - interval '1 minute'`;
const worker = (...handlers: string[]): Promise<unknown> =>
  touchNode(database.pool, { id: handlers.join(), taskQueue: 'q', handlers, version: '1', draining: false });

const openWakes = () => {
  const sent: (string | undefined)[] = [];
  const requests = {
    send: async ({ handler }: { handler?: string }) => void sent.push(handler),
    attributeRefusedAt: -Infinity,
  } as unknown as Requests;
  const noted: string[][] = [];
  const silent = {
    noteNotifier: () => undefined,
    noteMonitors: (handlers: readonly string[]) => void noted.push([...handlers]),
  };
  const counts = { notifierWakes: 0, monitorWakes: 0 };
  const options = { pool: database.pool, requests, prefix: 'overdue', log: { warn: () => undefined } };
  return { wakes: new OverdueWakes(options, silent, counts), counts, sent, noted };
};

test.each<[string, string[], string[][], string[]]>([
  ['none is overdue', [], [['one', 'two']], []],
  ['one is', ['one'], [['one', 'two']], ['one']],
  ['two are', ['one', 'two'], [['one', 'two']], ['one', 'two']],
  ['two are, which different workers serve', ['one', 'two'], [['one'], ['two']], ['one', 'two']],
  ['two are, of which one is served', ['one', 'two'], [['two']], ['two']],
  ['one is, which no worker serves: it could only wait', ['one'], [['two']], []],
  ['one is, and no worker lives', ['one'], [], []],
])('monitors with overdue work are woken once, where a worker serves them: %s', async (_, over, served, woken) => {
  for (const handler of over) await due(handler, OVERDUE);
  for (const handlers of served) await worker(...handlers);
  const { wakes, counts, sent, noted } = openWakes();
  await wakes.wakeMonitors();
  expect([sent, noted, counts]).toEqual([woken, [woken], { notifierWakes: 0, monitorWakes: woken.length }]);
});

test('what is due later is left to its monitor', async () => {
  await due('one', `clock() + interval '1 hour'`);
  await worker('one');
  const { wakes, sent } = openWakes();
  await wakes.wakeMonitors();
  expect(sent).toEqual([]);
});

test('a monitor that stays behind is not woken at each look; one that got on is woken at once later', async () => {
  await worker('one', 'two');
  await due('one', OVERDUE);
  const { wakes, sent } = openWakes();
  for (let look = 0; look < 3; look++) await wakes.wakeMonitors();
  expect(sent).toEqual(['one']);
  await due('two', OVERDUE);
  await wakes.wakeMonitors();
  expect(sent).toEqual(['one', 'two']);
  await query(`delete from cancellation where handler_id = (select id from handler where name = 'one')`);
  await wakes.wakeMonitors();
  await due('one', OVERDUE);
  await wakes.wakeMonitors();
  expect(sent).toEqual(['one', 'two', 'one']);
});
