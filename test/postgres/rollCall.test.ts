import { touchNode } from '../../postgres/nodes/node';
import type { NodeRow } from '../../postgres/nodes/node';
import { answerRollCall, countRollCall } from '../../postgres/nodes/rollCall';
import type { RollCallNeeds } from '../../workflows/planning/executions/rollCall';
import { whyUnanswered } from '../../workflows/planning/executions/rollCall';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';

/** E3: which nodes answer a roll call, as the store has them. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ max: 1 });
});
beforeEach(() => database.pool.query('delete from node'));
afterAll(() => database.drop());

const node = (id: string, more: Partial<NodeRow> = {}, hangsMs = 0) =>
  touchNode(
    database.pool,
    { id, taskQueue: 'q', handlers: [], version: '1', draining: false, batch: true, functions: ['f'], ...more },
    hangsMs,
  );
const needs = (more: Partial<RollCallNeeds> = {}): RollCallNeeds => ({
  functionId: 'f',
  attributes: {},
  topic: null,
  ...more,
});
const answered = async (more: Partial<RollCallNeeds> = {}) =>
  (await answerRollCall(database.pool, needs(more))).map(({ id }) => id);
const why = async (more: Partial<RollCallNeeds> = {}) =>
  whyUnanswered(await countRollCall(database.pool, needs(more)), needs(more));

test('topics, attributes and functions choose the nodes; every node answers without them [E1 E3]', async () => {
  await node('plain', { batch: false });
  await node('leaves', { draining: true });
  await node('a', { topics: ['t', 'u'], attributes: { zone: 'eu' } });
  await node('b', { topics: ['u'], functions: [] });
  expect(await answered()).toEqual(['a', 'b']);
  expect(await answered({ topic: 'u' })).toEqual(['a', 'b']);
  expect(await answered({ topic: 't' })).toEqual(['a']);
  expect(await answered({ topic: 'u', attributes: { zone: 'eu' } })).toEqual(['a']);
  expect(await countRollCall(database.pool, needs({ topic: 'u' }))).toEqual({
    able: 2,
    subscribed: 2,
    fitting: 2,
    answering: 2,
    serving: 1,
  });
  expect(await why({ topic: 'u' })).toBeNull();
});

test('a node whose heartbeat comes while its main thread hangs does not answer until it runs again [E3]', async () => {
  await node('busy', {}, 4_999);
  await node('hangs', {}, 5_000);
  expect(await answered()).toEqual(['busy']);
  await node('hangs', {}, 0);
  expect(await answered()).toEqual(['busy', 'hangs']);
});

test('a node of a version that reports only heartbeats answers', async () => {
  await node('old');
  await database.pool.query('update node set answered_at = null');
  expect(await answered()).toEqual(['old']);
});

test('where none answers the first condition that no node meets is named, with its remedy', async () => {
  expect(await why()).toMatch(/^no live node runs functions\. Start a worker whose config file has `functions`/);
  await node('a', { attributes: { zone: 'eu' } }, 60_000);
  expect(await why({ topic: 't' })).toMatch(/^no live node subscribes to topic "t"\. Add it to `executions\.topics`/);
  expect(await why({ attributes: { zone: 'us' } })).toMatch(/^no such node has the attributes zone=us\. Add them/);
  expect(await why()).toMatch(/^the main thread of the one such node gives no sign of life\. Wait until/);
});
