import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../../client';
import { createClient } from '../../../client';
import { countTogether, sharedInserts } from '../../../client/tasks/storeFew';
import type { FewTasks } from '../../../client/tasks/storeFew';
import { defineHandler } from '../../../handlers';
import { GroupCommit } from '../../../postgres/sharing/groupCommit';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** Submits of few tasks that come at the same time share transactions, and nothing else. */

describe('a group commit', () => {
  const open = (settings: { parallel?: number; patienceMs?: number; prefix?: number; most?: number } = {}) => {
    const begun: string[][] = [];
    const ends: ((error?: Error) => void)[] = [];
    const commit = new GroupCommit<string, string>(
      async (items) => {
        begun.push([...items]);
        await new Promise<void>((resolve, reject) =>
          ends.push((error) => (error === undefined ? resolve() : reject(error))),
        );
        return items.map((item) => (item === 'bad' ? { error: new Error('bad') } : { value: item.toUpperCase() }));
      },
      {
        parallel: settings.parallel ?? 4,
        patienceMs: settings.patienceMs ?? 60_000,
        most: settings.most ?? 100,
        prefix: (waiting) => Math.min(waiting.length, settings.prefix ?? Infinity),
      },
    );
    return { begun, ends, commit };
  };

  test('the first goes at once; who comes meanwhile goes with the next; each has an answer of its own', async () => {
    const { begun, ends, commit } = open();
    const answers = ['a', 'b', 'bad', 'c'].map((item) => commit.add(item));
    const failed = expect(answers[2]).rejects.toThrow('bad');
    expect(begun).toEqual([['a']]);
    ends[0]!();
    expect(await answers[0]).toBe('A');
    await eventually(() => begun.length === 2);
    expect(begun[1]).toEqual(['b', 'bad', 'c']);
    ends[1]!();
    expect([await answers[1], await answers[3]]).toEqual(['B', 'C']);
    await failed;
  });

  test('what fails as a whole fails all of its group, and nobody else', async () => {
    const { begun, ends, commit } = open({ prefix: 2 });
    const answers = ['a', 'b', 'c', 'd'].map((item) => commit.add(item));
    const lost = [answers[1], answers[2]].map((answer) => expect(answer).rejects.toThrow('lost'));
    ends[0]!();
    await eventually(() => begun.length === 2);
    ends[1]!(new Error('lost'));
    await Promise.all(lost);
    await eventually(() => begun.length === 3);
    ends[2]!();
    expect(await Promise.all([answers[0], answers[3]])).toEqual(['A', 'D']);
    expect(begun).toEqual([['a'], ['b', 'c'], ['d']]);
  });

  test('a group has no more than so many items', async () => {
    const { begun, ends, commit } = open({ most: 2 });
    const answers = ['a', 'b', 'c', 'd'].map((item) => commit.add(item));
    for (let i = 0; i < 3; i++) {
      await eventually(() => begun.length === i + 1);
      ends[i]!();
    }
    expect(await Promise.all(answers)).toEqual(['A', 'B', 'C', 'D']);
    expect(begun).toEqual([['a'], ['b', 'c'], ['d']]);
  });

  test('a group that takes long is waited for no longer than its patience, and no more than so many are under way', async () => {
    const { begun, ends, commit } = open({ parallel: 2, patienceMs: 10 });
    const answers = ['a', 'b'].map((item) => commit.add(item));
    await eventually(() => begun.length === 2);
    answers.push(commit.add('c'));
    await sleep(50); // several times its patience
    expect(begun).toEqual([['a'], ['b']]);
    ends[0]!();
    await eventually(() => begun.length === 3);
    ends.forEach((end) => end());
    expect(await Promise.all(answers)).toEqual(['A', 'B', 'C']);
  });
});

test('submits go together within a thousand tasks and a megabyte of payloads, and no id twice', () => {
  const call = (id: string, n = 1, payload = '1') => ({
    rows: Array.from({ length: n }, (_, i) => ({ id: `${id}-${i}`, payload })),
  });
  const many = (n: number, of: (i: number) => ReturnType<typeof call>) => Array.from({ length: n }, (_, i) => of(i));
  expect(countTogether([call('a')])).toBe(1);
  expect(countTogether(many(2_000, (i) => call(`${i}`)))).toBe(1_000);
  expect(countTogether(many(100, (i) => call(`${i}`, 49)))).toBe(20);
  expect(countTogether(many(20, (i) => call(`${i}`, 1, 'x'.repeat(100_000))))).toBe(10);
  expect(countTogether([call('a', 1, 'x'.repeat(5_000_000)), call('b')])).toBe(1);
  expect(countTogether([call('a'), call('b'), call('a'), call('c')])).toBe(2);
});

describe('in a store', () => {
  const handler = defineHandler<{ to: string }>({
    name: 'orders',
    target: ({ to }) => to,
    limits: { maxItems: 100_000 },
    linger: { lingerMs: 3_600_000 },
    submit: () => Promise.resolve({ results: [] }),
  });
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createDatabase();
    client = createClient({
      databaseUrl: database.url,
      handlers: [handler],
      temporal: { address: '127.0.0.1:1' },
    });
    await client.submit('orders', { id: 'first', payload: { to: 'a' } });
  });
  afterAll(async () => {
    await client.close();
    await database.drop();
  });
  const statements = async (): Promise<number> =>
    Number((await database.pool.query<{ n: string }>('select last_value as n from submit_seq')).rows[0]!.n);
  const one = (id: string, to = 'a') => client.submit('orders', { id, payload: { to } });
  const stored = async (like: string): Promise<string[]> =>
    (
      await database.pool.query<{ id: string }>('select id from task where id like $1 order by seq', [`${like}%`])
    ).rows.map(({ id }) => id);

  test('200 callers with one task each: few statements, every task once, in the order of the calls', async () => {
    const before = await statements();
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => one(`many-${String(i).padStart(3, '0')}`)));
    expect(answers.every(({ accepted, repeated }) => accepted === 1 && repeated === 0)).toBe(true);
    expect((await statements()) - before).toBeLessThanOrEqual(20);
    expect(await stored('many-')).toEqual(Array.from({ length: 200 }, (_, i) => `many-${String(i).padStart(3, '0')}`));
  });

  test('40 callers that submit one task after another share their statements', async () => {
    const before = await statements();
    const caller = async (name: number): Promise<void> => {
      for (let i = 0; i < 20; i++) await one(`stream-${name}-${i}`);
    };
    await Promise.all(Array.from({ length: 40 }, (_, name) => caller(name)));
    expect((await stored('stream-')).length).toBe(800);
    expect((await statements()) - before).toBeLessThanOrEqual(100);
  });

  test('one that is refused, one that is repeated and one of several tasks are answered by themselves', async () => {
    await one('known');
    const several = (...ids: string[]) =>
      client.submit(
        'orders',
        ids.map((id) => ({ id, payload: { to: 'b' } })),
      );
    const settled = await Promise.allSettled([
      one('ahead'),
      one('new-1'),
      one('known'),
      one('known', 'elsewhere'),
      one('new-2'),
      several('new-3', 'new-4'),
    ]);
    expect(settled.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason)))).toMatchObject([
      { accepted: 1 },
      { accepted: 1, repeated: 0 },
      { accepted: 0, repeated: 1 },
      expect.stringContaining('expected an unused id'),
      { accepted: 1, repeated: 0 },
      { accepted: 2, repeated: 0 },
    ]);
    // One that conflicts and has written something takes back what is its own, and nothing else.
    const mixed = await Promise.allSettled([one('ahead-2'), one('new-5'), several('new-6', 'known'), one('new-7')]);
    expect(mixed.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect((await stored('new-')).sort()).toEqual(['new-1', 'new-2', 'new-3', 'new-4', 'new-5', 'new-7']);
  });

  test('the same id twice at once is accepted once and repeated once', async () => {
    const answers = await Promise.all([one('ahead-3'), one('twin'), one('twin'), one('twin')]);
    expect(answers.slice(1).map(({ accepted, repeated }) => [accepted, repeated])).toEqual([
      [1, 0],
      [0, 1],
      [0, 1],
    ]);
  });

  test("an id in somebody's open transaction holds up whoever submits it, and nobody who comes at the same time", async () => {
    const other = await database.pool.connect();
    await other.query('begin');
    await client.submit('orders', { id: 'held', payload: { to: 'a' } }, { tx: other });
    const ahead = one('ahead-4');
    let isThere = false;
    const held = one('held').then((answer) => {
      isThere = true;
      return answer;
    });
    // All but the first go together.
    const beside = await Promise.all([ahead, one('beside-1'), one('beside-2')]);
    expect(beside.every(({ accepted }) => accepted === 1)).toBe(true);
    expect(isThere).toBe(false);
    await other.query('commit');
    other.release();
    expect(await held).toMatchObject({ accepted: 0, repeated: 1 });
  });

  test('ids in open transactions, submitted one by one, hold up nobody else however many they are', async () => {
    const other = await database.pool.connect();
    await other.query('begin');
    const ids = Array.from({ length: 6 }, (_, i) => `alone-${i}`);
    await client.submit(
      'orders',
      ids.map((id) => ({ id, payload: { to: 'a' } })),
      { tx: other },
    );
    const held: Promise<unknown>[] = [];
    for (const id of ids) {
      held.push(one(id));
      await sleep(40); // longer than a group is waited for: each is in one of its own
    }
    expect(await one('passes')).toMatchObject({ accepted: 1 });
    await other.query('commit');
    other.release();
    expect(await Promise.all(held)).toMatchObject(ids.map(() => ({ accepted: 0, repeated: 1 })));
  });

  test('a value that Postgres refuses is the fault of whoever gave it', async () => {
    const targetId = (await database.pool.query<{ id: number }>('select min(id) as id from target')).rows[0]!.id;
    const shared = sharedInserts(database.pool);
    const add = (id: string, key: string | null = null) => {
      const task = { id, payload: '{"to":"a"}' } as FewTasks['tasks'][number];
      const row = { ...{ id, targetId, payload: task.payload, bytes: 10, weight: null, key }, priority: 0 };
      const rows = [
        { ...row, recipientId: null, notBeforeMs: null, expiresAtMs: null, version: null, trace: null, labels: null },
      ];
      return shared.add({ handler, tasks: [task], rows, lookedUpAtMs: Date.now(), partial: false });
    };
    const settled = await Promise.allSettled([add('ahead-5'), add('fine-1'), add('nul', 'a\u0000b'), add('fine-2')]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await stored('fine-')).toEqual(['fine-1', 'fine-2']);
  });
});
