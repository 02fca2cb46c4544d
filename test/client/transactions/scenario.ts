import { createClient } from '../../../client';
import type { Client } from '../../../client';
import { defineHandler } from '../../../handlers';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, NO_TEMPORAL } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import type { Library } from './library';

/** What a submit does in the transaction of any library. */

interface Job {
  to: string;
  text?: string;
}
const target = ({ to }: Job): string => to;
const limits = { maxItems: 10 };
const submit = () => Promise.reject(new Error('no worker runs here'));
const handlers = [
  defineHandler<Job>({ name: 'jobs', target, limits, submit }),
  defineHandler<Job>({ name: 'few', target, limits, submit, maxQueued: { perHandler: 3, perTarget: 2 } }),
  defineHandler<Job>({
    name: 'lanes',
    target,
    limits,
    submit,
    service: (to) => to,
    lane: { approach: 'parallel' },
    writes: ({ to }) => [`key of ${to}`],
  }),
];

/** Everything that a library may write differently from another one. */
const TRICKY = `"double" 'single' {brace} back\\slash, ? $1 :name, NULL, ümläut 🦉\n\ttab`;
const job = (id: string, to = 'a', text = TRICKY): { id: string; payload: Job } => ({ id, payload: { to, text } });

export const describeLibrary = (name: string, open: (url: string) => Promise<Library> | Library): void => {
  describe(name, () => {
    let database: TestDatabase;
    let library: Library;
    let client: Client;
    beforeAll(async () => {
      database = await createDatabase();
      await database.pool.query({ text: 'create table public.invoice (id text)' });
      // Postgres.js takes what follows the question mark for settings of the server.
      library = await open(database.url.split('?')[0]!);
      client = createClient({ databaseUrl: database.url, handlers, temporal: NO_TEMPORAL });
    });
    afterAll(async () => {
      await client.close();
      await library.end();
      await database.drop();
    });

    const rows = async (text: string): Promise<unknown[]> => (await database.pool.query({ text })).rows;
    const idsOf = async (prefix: string): Promise<unknown[]> =>
      (await rows(`select id from task where id like '${prefix}%' order by id`)).map(
        (row) => (row as { id: string }).id,
      );

    test('tasks are accepted with the row beside them, and are what was submitted', async () => {
      const later = Date.now() + 3_600_000;
      await library.transact(async ({ tx, send }) => {
        await send(`insert into invoice (id) values ('kept')`);
        const tasks = [
          { ...job('kept-"1\\'), priority: -3 },
          { ...job('kept-2', 'b "c"'), notBefore: later },
          { ...job('kept-3'), callback: { url: 'https://receiver.example/x' } },
        ];
        expect(await client.submit('jobs', tasks, { tx })).toMatchObject({ accepted: 3, repeated: 0 });
        expect(await client.submit('jobs', tasks, { tx })).toMatchObject({ accepted: 0, repeated: 3 });
        await send(`insert into invoice (id) values ('after')`); // our search_path is theirs again
      });
      expect(await rows('select id from public.invoice order by id')).toEqual([{ id: 'after' }, { id: 'kept' }]);
      expect(await client.getTasks(['kept-"1\\', 'kept-2'])).toMatchObject([
        { payload: { to: 'a', text: TRICKY }, target: 'a' },
        { payload: { to: 'b "c"', text: TRICKY }, target: 'b "c"' },
      ]);
      expect(await rows(`select count(*)::int as n from delayed`)).toEqual([{ n: 1 }]);
    });

    test('what waits for other tasks, and what goes to lanes', async () => {
      const { batches, single } = await library.transact(async ({ tx }) => {
        await client.submit('jobs', [job('d-1'), { ...job('d-2'), dependsOn: ['d-1'] }], { tx });
        const single = await client.submit('lanes', [job('l-1', 'po-1'), job('l-2', 'po-2')], { tx });
        const first = await client.batches.submit('lanes', 'po-1', [job('b-1', 'po-1')], {
          tx,
          reads: ['k "1"', 'k2'],
        });
        const more = await client.batches.submitMany(
          'lanes',
          [{ service: 'po-1', items: [job('b-2', 'po-1')], dependsOn: [first.batch] }],
          { tx },
        );
        const again = await client.batches.submit('lanes', 'po-1', [job('b-1', 'po-1')], { tx });
        return { batches: [first, ...more, again], single };
      });
      const [first, second, again] = batches.map(({ batch }) => batch);
      expect(batches.map(({ accepted }) => accepted)).toEqual([true, true, false]);
      expect(again).toBe(first);
      expect(await client.batches.status(first!)).toMatchObject({ reads: ['k "1"', 'k2'], service: 'po-1' });
      expect(await client.batches.status(second!)).toMatchObject({ dependsOn: [first] });
      expect(await rows(`select writes from lane_queue order by seq`)).toEqual([
        { writes: ['key of po-1'] },
        { writes: ['key of po-2'] },
      ]);
      expect(await rows('select count(*)::int as n from held')).toEqual([{ n: 1 }]);
      await Promise.all([single.ring(), ...batches.map((one) => one.ring())]);
      const ready = 'select count(*)::int as n from lane_state where ready';
      await eventually(async () => JSON.stringify(await rows(ready)) === '[{"n":2}]');
    });

    test('nothing is accepted if it is rolled back', async () => {
      const rolledBack = library.transact(async ({ tx }) => {
        await client.submit('jobs', [job('gone-1')], { tx });
        await client.batches.submit('lanes', 'po-9', [job('gone-2', 'po-9')], { tx });
        throw new Error('changed my mind');
      });
      await expect(rolledBack).rejects.toThrow('changed my mind');
      expect(await idsOf('gone')).toEqual([]);
    });

    test('a refusal leaves the transaction as it was, and the next submit works', async () => {
      await library.transact(async ({ tx, send }) => {
        await client.submit('few', [job('r-1'), job('r-2')], { tx });
        await expect(client.submit('few', [job('r-3')], { tx })).rejects.toMatchObject({
          code: 'BACKLOGGED',
          depth: 2,
        });
        const conflict = client.submit('jobs', [job('r-4'), job('r-1', 'other')], { tx });
        await expect(conflict).rejects.toMatchObject({ code: 'ID_CONFLICT' });
        await client.submit('jobs', job('r-5'), { tx });
        await send(`insert into invoice (id) values ('refused')`);
      });
      expect(await idsOf('r-')).toEqual(['r-1', 'r-2', 'r-5']);
    });

    test('a ring after the commit makes the targets due', async () => {
      const accepted = await library.transact(({ tx }) => client.submit('jobs', job('rung-1', 'rung'), { tx }));
      const due = `select due_at is not null as due from target where key = 'rung'`;
      expect(await rows(due)).toEqual([{ due: false }]);
      await accepted.ring(); // which is not waited for while Temporal is away, as here
      await eventually(async () => JSON.stringify(await rows(due)) === '[{"due":true}]');
      await expectWhole(client);
    });

    test('the transaction itself in place of its adapter is refused, which names the adapter', async () => {
      await library.transact(async ({ raw }) => {
        await expect(client.submit('jobs', job('raw'), { tx: raw as never })).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining(library.remedy),
        });
      });
    });

    test('what has not begun is refused', async () => {
      await expect(client.submit('jobs', job('none'), { tx: library.outside() })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('tx: expected a transaction that has begun'),
      });
      expect(await idsOf('none')).toEqual([]);
    });
  });
};
