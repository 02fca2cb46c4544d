import { createClient, defineHandler, HaltError, LaterError, TaskRefusedError } from '../../client';
import type { CallReport, Client, EndedTasks, HandlerOptions, HookedBatch, Hooks, TaskInput } from '../../client';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import { NO_TEMPORAL } from '../helpers/database';

/** Hooks of a worker and of a client, in this process. @slow */

interface Order {
  shop: string;
  bad?: boolean;
}

let calls = 0;
const options: HandlerOptions<Order> = {
  name: 'plain',
  target: ({ shop }) => shop,
  limits: { maxItems: 10 },
  linger: { lingerMs: 50 },
  retry: { delayed: { baseMs: 50, maxMs: 100 }, inPlace: { times: 0 } },
  submit: (batch) => {
    calls++;
    if (batch.tasks.some(({ payload }) => payload.bad))
      throw Object.assign(new Error('bad'), { name: 'RejectedError' });
    return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
};
const plain = defineHandler(options);
const laned = defineHandler({ ...options, name: 'laned', retry: {}, lane: {} });

interface Heard {
  formed: HookedBatch[];
  asked: HookedBatch[];
  called: CallReport[];
  ended: EndedTasks[];
  order: string[];
}
/** Hooks that write down what they hear; `then` does what the test wants of them. */
const listening = (then: Partial<Hooks> = {}): { hooks: Hooks; heard: Heard } => {
  const heard: Heard = { formed: [], asked: [], called: [], ended: [], order: [] };
  const note =
    <E>(to: E[], name: string, more: ((event: E) => unknown) | undefined) =>
    (event: E): unknown => {
      to.push(event);
      heard.order.push(name);
      return more?.(event);
    };
  const hooks: Hooks = {
    batchFormed: note(heard.formed, 'formed', then.batchFormed),
    beforeCall: note(heard.asked, 'asked', then.beforeCall),
    afterCall: note(heard.called, 'called', then.afterCall),
    taskEnded: note(heard.ended, 'ended', then.taskEnded),
    timeoutMs: then.timeoutMs ?? 300,
  };
  return { hooks, heard };
};

let muster: TestMuster | undefined;
const begin = async (hooks: Hooks): Promise<TestMuster> => {
  calls = 0;
  muster = await startMuster([plain, laned], { hooks });
  return muster;
};
afterEach(async () => {
  await muster?.stop();
  muster = undefined;
});
const submit = (client: Client, handler: string, ...tasks: TaskInput[]): Promise<unknown> =>
  handler === 'laned' ? client.submitBatch('laned', 'se', tasks) : client.submit(handler, tasks);
const attemptsOf = async ({ database }: TestMuster): Promise<unknown> =>
  (await database.pool.query('select attempt, counted, unsure from batch order by id')).rows;
const failures = async ({ node }: TestMuster, hook: string, why: string): Promise<number> => {
  const { Registry } = await import('prom-client');
  const registry = new Registry();
  node.deps.hooks!.meters.register(registry);
  const { values } = (await registry.getMetricsAsJSON())[0] as { values: { value: number; labels: object }[] };
  return values.find(({ labels }) => JSON.stringify(labels) === JSON.stringify({ hook, why }))!.value;
};

test.each(['plain', 'laned'])(
  'of a batch of %s each hook hears handler, target, batch, call, tasks and outcome, in order',
  async (handler) => {
    const { hooks, heard } = listening();
    const { client } = await begin(hooks);
    await submit(client, handler, { id: 'a', payload: { shop: 'se' } }, { id: 'b', payload: { shop: 'se' } });
    await client.waitFor(['a', 'b']);
    await eventually(() => heard.ended.length === 1);
    const [batch] = heard.formed;
    expect(batch).toEqual({
      handler,
      target: 'se',
      batch: expect.stringMatching(/^\d+$/),
      attempt: 1,
      tasks: ['a', 'b'],
    });
    expect(heard.asked).toEqual([batch]);
    expect(heard.called).toEqual([
      { ...batch, outcome: 'results', error: null, reference: null, notOk: [], ms: expect.any(Number) },
    ]);
    const ok = (id: string) => ({ id, state: 'succeeded', error: null });
    expect(heard.ended).toEqual([{ ...batch, tasks: [ok('a'), ok('b')] }]);
    expect(heard.order).toEqual(['asked', 'formed', 'called', 'ended']);
  },
);

test('with beforeCall the payloads of a batch are read once, after it has answered', async () => {
  const read: string[] = [];
  const { hooks } = listening({ beforeCall: () => void read.push('asked') });
  const { client, database } = await begin(hooks);
  const { pool } = database;
  const query = pool.query.bind(pool) as (...given: unknown[]) => unknown;
  pool.query = ((statement: { name?: string }, ...rest: unknown[]) => {
    if (statement.name === 'read-member-contents') read.push('read');
    return query(statement, ...rest);
  }) as typeof pool.query;
  await submit(client, 'plain', { id: 'a', payload: { shop: 'se' } });
  await client.waitFor('a');
  expect(read).toEqual(['asked', 'read']);
});

test('a poison task is told once, by the call that isolated it, and so is each of its neighbours', async () => {
  const { hooks, heard } = listening();
  const { client } = await begin(hooks);
  const tasks = ['a', 'b', 'c', 'd'].map((id) => ({ id, payload: { shop: 'se', bad: id === 'c' } }));
  await client.submit('plain', tasks);
  await client.waitFor(tasks.map(({ id }) => id));
  await eventually(() => heard.ended.flatMap((one) => one.tasks).length >= 4);
  const ends = heard.ended.flatMap((one) => one.tasks).sort((x, y) => (x.id < y.id ? -1 : 1));
  expect(ends.map(({ id, state }) => [id, state])).toEqual([
    ['a', 'succeeded'],
    ['b', 'succeeded'],
    ['c', 'failed'],
    ['d', 'succeeded'],
  ]);
  expect(heard.formed.map(({ batch }) => batch)).toHaveLength(new Set(heard.formed.map(({ batch }) => batch)).size);
  await expectWhole(client);
});

test.each(['plain', 'laned'])(
  'beforeCall puts a call of %s off by a LaterError, and no task loses an attempt',
  async (handler) => {
    let refusals = 3;
    const { hooks, heard } = listening({
      beforeCall: () => {
        if (refusals-- > 0) throw new LaterError('the window is closed', { retryAfterMs: 60 });
      },
    });
    const muster = await begin(hooks);
    await submit(muster.client, handler, { id: 'a', payload: { shop: 'se' } });
    await muster.client.waitFor('a');
    expect(calls).toBe(1);
    expect(heard.asked).toHaveLength(4);
    expect(await attemptsOf(muster)).toEqual([{ attempt: 4, counted: 1, unsure: false }]);
    expect(heard.called).toHaveLength(1);
    expect(await failures(muster, 'beforeCall', 'threw')).toBe(0);
  },
);

test('beforeCall pauses the handler by a HaltError', async () => {
  const { hooks } = listening({
    beforeCall: () => {
      throw new HaltError('the contract has ended');
    },
  });
  const { client } = await begin(hooks);
  await client.submit('plain', { id: 'a', payload: { shop: 'se' } });
  const paused = await eventually(async () => (await client.status('plain'))[0]!.paused);
  expect(paused.reason).toContain('the contract has ended');
  expect(calls).toBe(0);
  expect((await client.getTask('a'))!.attempts).toBe(0);
});

test.each([
  ['throws', 'threw', () => Promise.reject(new Error('a defect'))],
  ['hangs', 'late', () => new Promise(() => undefined)],
] as const)(
  'a beforeCall that %s puts the call off, is counted, and no task loses an attempt',
  async (_, why, fault) => {
    let faults = 2;
    const { hooks } = listening({ beforeCall: () => (faults-- > 0 ? fault() : undefined), timeoutMs: 100 });
    const muster = await begin(hooks);
    await muster.client.submit('plain', { id: 'a', payload: { shop: 'se' } });
    await muster.client.waitFor('a');
    expect(calls).toBe(1);
    expect((await muster.client.getTask('a'))!.attempts).toBe(1);
    expect(await failures(muster, 'beforeCall', why)).toBe(2);
  },
);

test.each([
  ['throw', 'threw', () => Promise.reject(new Error('a defect'))],
  ['hang', 'late', () => new Promise(() => undefined)],
] as const)('hooks that observe and %s change nothing, hold up nothing, and are counted', async (_, why, fault) => {
  const { hooks, heard } = listening({ batchFormed: fault, afterCall: fault, taskEnded: fault, timeoutMs: 200 });
  const muster = await begin(hooks);
  await muster.client.submit('plain', { id: 'a', payload: { shop: 'se' } });
  const [task] = await muster.client.waitFor('a');
  expect(task).toMatchObject({ state: 'succeeded' });
  for (const hook of ['batchFormed', 'afterCall', 'taskEnded'])
    await eventually(async () => (await failures(muster, hook, why)) === 1);
  expect(heard.ended).toHaveLength(1);
});

describe('taskAccepted', () => {
  const withHook = ({ database, prefix }: TestMuster, taskAccepted: Hooks['taskAccepted'], timeoutMs = 200) =>
    createClient({
      databaseUrl: database.url,
      prefix,
      handlers: [plain, laned],
      hooks: { taskAccepted: taskAccepted!, timeoutMs },
      temporal: NO_TEMPORAL,
    });
  const stored = async ({ database }: TestMuster): Promise<number> =>
    (await database.pool.query<{ n: number }>('select count(*)::int as n from task')).rows[0]!.n;

  test.each([
    [
      'refuses',
      'TASK_REFUSED',
      () => {
        throw new TaskRefusedError('closed on Sundays');
      },
      /^closed on Sundays$/,
    ],
    [
      'throws',
      'HOOK_FAILED',
      () => {
        throw new Error('a defect');
      },
      /taskAccepted threw: .*a defect.*Nothing was accepted/,
    ],
    ['hangs', 'HOOK_FAILED', () => new Promise(() => undefined), /did not end within 200 ms/],
  ])('that %s: the submitter gets it, and nothing is written', async (_, code, hook, message) => {
    const muster = await begin({});
    const client = withHook(muster, hook);
    const error = { code, message: expect.stringMatching(message) };
    await expect(client.submit('plain', { id: 'a', payload: { shop: 'se' } })).rejects.toMatchObject(error);
    await expect(client.submitBatch('laned', 'se', [{ id: 'b', payload: { shop: 'se' } }])).rejects.toMatchObject(
      error,
    );
    expect(await stored(muster)).toBe(0);
    await client.close();
  });

  test('sees what would be stored, also of a batch, and lets it pass', async () => {
    const muster = await begin({});
    const seen: unknown[] = [];
    const client = withHook(muster, (event) => seen.push(event));
    await client.submit('plain', { id: 'a', payload: { shop: 'se' } });
    await client.submitBatch('laned', 'no', [{ id: 'b', payload: { shop: 'no' } }]);
    expect(seen).toEqual([
      { handler: 'plain', tasks: [{ id: 'a', target: 'se', payload: { shop: 'se' } }] },
      { handler: 'laned', tasks: [{ id: 'b', target: 'no', payload: { shop: 'no' } }] },
    ]);
    await client.waitFor(['a', 'b']);
    await client.close();
  });

  test.each([
    [{ taskAcepted: () => undefined }, /^hooks.taskAcepted: unknown hook; did you mean "taskAccepted"\?/],
    [{ beforeCall: 7 }, /^hooks.beforeCall: expected a function, got 7/],
    [{ timeoutMs: 5 }, /^hooks.timeoutMs: expected a whole number of milliseconds from 10 to 60000, got 5/],
    [null, /^hooks: expected an object of functions/],
  ])('wrong hooks are refused by name: %j', (hooks, message) => {
    expect(() => createClient({ databaseUrl: 'postgres://localhost/x', hooks: hooks as never })).toThrow(message);
  });
});
