import { z } from 'zod';
import { defineHandler } from '../../handlers';
import { createClient } from '../../client';
import type { Client } from '../../client';
import type { TaskProblem } from '../../client/errors';
import { InvalidTaskError } from '../../client/errors';
import type { Shop } from './shop';
import { items, openShop } from './shop';
import { NO_TEMPORAL, temporalAddress } from '../helpers/database';

/**
 * What cannot be a task is refused by name, whatever it is made of; nothing of it escapes as a raw
 * error, and nothing is stored.
 */

let shop: Shop;
let typed: Client;
const answers = { submit: async () => ({ results: [] }), limits: { maxItems: 10 } };
const late = defineHandler({
  ...answers,
  name: 'late',
  target: () => 't',
  schema: z.object({ n: z.number().refine(async (n) => n > 0) }),
});
const read = defineHandler({
  ...answers,
  name: 'read',
  schema: z.object({ n: z.string().transform(Number), note: z.string().default('none') }),
  target: (payload) => payload.n.toFixed(1),
});
const plain = defineHandler<{ to: string }>({ ...answers, name: 'plain', target: ({ to }) => to });
/** Its schema, written by hand, refuses what has no amount, and names no issue. */
const silent = defineHandler<{ amount?: number }>({
  ...answers,
  name: 'silent',
  target: () => 't',
  schema: {
    '~standard': {
      version: 1,
      vendor: 'by hand',
      validate: (value: { amount?: number }) => (value.amount === undefined ? { issues: [] } : { value }),
    },
  } as never,
});
beforeAll(async () => {
  shop = await openShop();
  typed = createClient({
    databaseUrl: shop.database.url,
    handlers: [late, read, plain, silent],
    temporal: { address: temporalAddress() },
  });
});
afterAll(async () => {
  await typed.close();
  await shop.stop();
});

const problemsOf = async (tasks: unknown): Promise<TaskProblem[]> => {
  const error: unknown = await shop.client.submit('items', tasks as never).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidTaskError);
  return [...(error as InvalidTaskError).problems];
};
const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
};
const circle: Record<string, unknown> = { to: 'a' };
circle['self'] = circle;

test.each<[string, unknown, RegExp]>([
  ['101 levels', { to: 'a', deep: nested(100) }, /at most 100 levels/],
  ['5,000 levels', { to: 'a', deep: nested(5_000) }, /at most 100 levels/],
  ['200,000 levels', { to: 'a', deep: nested(200_000) }, /at most 100 levels/],
  ['a BigInt', { to: 'a', n: 1n }, /written as JSON: .*BigInt/],
  ['a circle', circle, /written as JSON: .*circular/i],
  [
    'a toJSON that throws',
    {
      to: 'a',
      toJSON: () => {
        throw new Error('not me');
      },
    },
    /written as JSON: not me/,
  ],
])('payload of %s', async (_, payload, message) => {
  const [problem] = await problemsOf({ id: 'odd', payload });
  expect(problem).toMatchObject({
    index: 0,
    id: 'odd',
    field: 'payload',
    code: 'INVALID_PAYLOAD',
    message: expect.stringMatching(message) as string,
  });
  expect(await shop.client.getTask('odd')).toBeNull();
});

test('100 levels are a payload', async () => {
  await shop.client.submit('items', { id: 'deep', payload: { to: 'a', deep: nested(99) } });
  expect((await shop.client.getTask('deep'))!.payload).toEqual({ to: 'a', deep: nested(99) });
});

test('an unknown field is refused by its name, with the one that was meant', async () => {
  const [task] = items('a', 'strange');
  expect(await problemsOf({ ...task, notbefore: 1 })).toMatchObject([
    {
      id: 'strange',
      field: 'notbefore',
      code: 'UNKNOWN_FIELD',
      message: expect.stringMatching(/expected only id, payload.*notBefore/) as string,
    },
  ]);
  for (const strange of [circle, 1n, Symbol('s')])
    expect(await problemsOf({ ...task, priority: strange })).toMatchObject([{ field: 'priority' }]);
});

test('a value of an argument that is no JSON is shown all the same', async () => {
  await expect(shop.client.resolve({ batch: 1n as never }, { as: 'failed' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  await expect(shop.client.resolve({ batch: 1 }, { as: 'succeeded', result: 1n })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(/^result: .*BigInt/) as string,
  });
});

test('a number of connections that is none is refused, before any is opened', () => {
  for (const maxConnections of [NaN, 0, 2.5, 1_001, '4' as never])
    expect(() => createClient({ databaseUrl: shop.database.url, maxConnections, temporal: NO_TEMPORAL })).toThrow(
      'maxConnections: expected a whole number from 1 to 1000',
    );
});

test('a time to wait for an execution and a size of its pages outside their range are refused by name', async () => {
  const execution = shop.client.execution('0b8f7f0e-5d0f-4f0c-9a52-3a6c5c1d2b11');
  const refused = (field: string) => ({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(`^${field}: `) });
  for (const timeoutMs of [NaN, -1, 0.5, Infinity, '1' as never])
    await expect(execution.wait({ timeoutMs })).rejects.toMatchObject(refused('timeoutMs'));
  for (const size of [0, -1, NaN, 1.5, 10_001, '7' as never]) {
    await expect(execution.items(size).next()).rejects.toMatchObject(refused('pageSize'));
    await expect(execution.resultPages(size).next()).rejects.toMatchObject(refused('pageSize'));
    await expect(execution.itemPage({ limit: size })).rejects.toMatchObject(refused('limit'));
    await expect(execution.resultPage({ limit: size })).rejects.toMatchObject(refused('limit'));
    await expect(shop.client.executions({ limit: size })).rejects.toMatchObject(refused('limit'));
  }
  for (const after of [-2, NaN, 2_147_483_648])
    await expect(execution.itemPage({ limit: 1, after })).rejects.toMatchObject(refused('after'));
  for (const call of [execution.itemPage({ limit: 10_000, after: -1 }), execution.wait({ timeoutMs: 0 })])
    await expect(call).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('an asynchronous schema is refused with its remedy', async () => {
  await expect(typed.submit(late, { id: 'late', payload: { n: 1 } })).rejects.toMatchObject({
    code: 'ASYNC_SCHEMA',
    message: expect.stringMatching(/schema of handler "late".*Make it synchronous/) as string,
  });
});

test('a submit takes what the schema reads, and its handler sees what that makes of it', async () => {
  await typed.submit(read, { id: 'typed', payload: { n: '2' } });
  expect(await typed.getTask('typed')).toMatchObject({ target: '2.0', payload: { n: 2, note: 'none' } });
  // @ts-expect-error: that is what the schema makes, not what it reads
  await expect(typed.submit(read, { id: 'wrong', payload: { n: 2, note: 'x' } })).rejects.toThrow(InvalidTaskError);
  // @ts-expect-error: a handler without a schema takes its payload as it is
  await expect(typed.submit(plain, { id: 'wrong', payload: { to: 1 } })).rejects.toThrow(InvalidTaskError);
  await typed.submit(plain, [{ id: 'right', payload: { to: 'x' } }]);
});

test('what a schema refuses without an issue is not left out in silence', async () => {
  const tasks = [
    { id: 'with', payload: { amount: 1 } },
    { id: 'without', payload: {} },
  ];
  for (const sent of [tasks, tasks[1]!])
    await expect(typed.submit(silent, sent)).rejects.toMatchObject({
      problems: [
        {
          id: 'without',
          field: 'payload',
          code: 'INVALID_PAYLOAD',
          message: expect.stringMatching(/names no issue/) as string,
        },
      ],
    });
  expect(await typed.getTask('with')).toBeNull();
});
