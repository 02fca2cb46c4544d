import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { storeExecution } from '../../client/executions/execute';
import * as chunks from '../../postgres/executions/chunk';
import { cancelExecution, deleteAbandonedStaging, dueExecutions } from '../../postgres/executions/execution';
import { takeTurn } from '../../postgres/executions/turn';
import { readExecution } from '../../postgres/executions/view';
import { checkSchema, migrate } from '../../postgres/migrating/migrate';
import { createPool } from '../../postgres/pool';
import type { Pool } from '../../postgres/pool';
import { createStore } from '../../examples/support/database';
import { rounds } from '../helpers/long';
import { breaksOff, oneEach, Scene, serverOf } from './executionStore';

/**
 * E14: one suite on both stores: the embedded Postgres, which needs no server set up, and one that
 * is given by its URL (`serverOf`).
 */
describe.each(['embedded', 'given'])('the store of executions, %s [E14]', (kind) => {
  let url: string;
  let pool: Pool;
  let stop = (): Promise<void> => Promise.resolve();
  beforeAll(async () => {
    const server = await serverOf(kind);
    stop = server.stop;
    const name = `conformance_${randomUUID().slice(0, 8)}`;
    url = await createStore(server.url, name);
    // As of somebody's web application; nothing of ours may depend on it, migrations included.
    const admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query(`alter database ${name} set statement_timeout = '1ms'`);
    await admin.end();
    pool = createPool({ databaseUrl: url, max: 10 });
  });
  afterAll(async () => {
    await pool.end();
    await stop();
  });

  describe('tables', () => {
    test('are made once, however often it is asked for', async () => {
      expect(await migrate(url)).toEqual([]);
      await checkSchema(pool);
    });
    test('a schema that differs is refused, and so is a server that does not answer', async () => {
      const other = createPool({ databaseUrl: url, schema: 'other' });
      await migrate(url, 'other');
      await checkSchema(other);
      await other.query('alter table work_item rename column exit_code to code');
      await expect(checkSchema(other)).rejects.toMatchObject({
        code: 'SCHEMA_DIFFERS',
        message: expect.stringContaining('exit_code'),
      });
      await other.end();
      const away = createPool({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' });
      await expect(checkSchema(away)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
      await away.end();
    });
  });

  describe('acceptance', () => {
    const template = { functionId: 'c', method: 'f' };
    test('a list of several parts is staged until it is whole: a list that breaks off is never accepted', async () => {
      const broken = randomUUID();
      const breaks = breaksOff(11_000, 'the file ended');
      await expect(storeExecution(pool, template, breaks, { requestId: broken })).rejects.toThrow('the file ended');
      expect(await readExecution(pool, broken)).toMatchObject({ state: 2, items: 10_000 });
      expect(await takeTurn(pool, broken, { id: 'r', startedAtMs: 1, turn: 1 }, 10)).toBeNull();
      // The same request again goes on where the first one stopped.
      const { isNew } = await storeExecution(pool, template, oneEach(11_000), { requestId: broken });
      expect(isNew).toBe(true);
      expect(await readExecution(pool, broken)).toMatchObject({ state: 0, items: 11_000, counts: { created: 11_000 } });
      const { rows } = await pool.query(
        'select count(*)::int as n, max(position) as last, max(copy) as copies from work_item where execution_id = $1',
        [broken],
      );
      expect(rows[0]).toEqual({ n: 11_000, last: 10_999, copies: 1 });
    });
    test('the same request id again is the same request; with another list it is refused', async () => {
      const requestId = randomUUID();
      expect(await storeExecution(pool, template, oneEach(3), { requestId })).toMatchObject({ items: 3, isNew: true });
      expect(await storeExecution(pool, template, oneEach(3), { requestId })).toMatchObject({ isNew: false });
      await expect(storeExecution(pool, template, oneEach(4), { requestId })).rejects.toMatchObject({
        code: 'ID_CONFLICT',
      });
    });
    test('a bad list leaves nothing behind', async () => {
      const requestId = randomUUID();
      const bad = [['a'], [1 as unknown as string]];
      await expect(storeExecution(pool, template, bad, { requestId })).rejects.toThrow(
        'arguments[1][0]: expected a string (write numbers in quotes), got 1',
      );
      await expect(storeExecution(pool, template, [], { requestId })).rejects.toThrow('expected at least one');
      expect(await readExecution(pool, requestId)).toBeNull();
    });
    test('copies of one content id are numbered by position, over parts too', async () => {
      const lists = Array.from({ length: 20_003 }, (_, i) => (i % 10_000 === 0 ? ['same'] : [`${i}`]));
      const { id } = await storeExecution(pool, template, lists, {});
      const { rows } = await pool.query(
        'select position, copy from work_item where execution_id = $1 and copy > 1 order by position',
        [id],
      );
      expect(rows).toEqual([
        { position: 10_000, copy: 2 },
        { position: 20_000, copy: 3 },
      ]);
    });
    test('an abandoned list is deleted, once nobody has added to it for an hour', async () => {
      const requestId = randomUUID();
      const breaks = breaksOff(10_001, 'gone');
      await expect(storeExecution(pool, template, breaks, { requestId })).rejects.toThrow('gone');
      expect(await deleteAbandonedStaging(pool, 4_000)).toBe(0);
      await pool.query(`update execution set resume_at = clock() - interval '1 s' where id = $1`, [requestId]);
      while ((await deleteAbandonedStaging(pool, 4_000)) > 0);
      expect(await readExecution(pool, requestId)).toBeNull();
      expect((await pool.query('select from work_item where execution_id = $1', [requestId])).rowCount).toBe(0);
    });
  });

  describe('a round [E4]', () => {
    test('item i goes to node i mod n; no empty chunk', async () => {
      const scene = await Scene.of(pool, oneEach(20));
      const ids = await scene.plan(['a', 'b', 'c', 'd']);
      expect((await scene.rows()).map((row) => ids.indexOf(row['chunk_id'] as string))).toEqual(
        oneEach(20).map((_, i) => i % 4),
      );
      const few = await Scene.of(pool, oneEach(4));
      await few.plan(['a', 'b', 'c', 'd', 'e', 'f']);
      expect((await chunks.openChunks(pool, few.id)).map(({ n }) => n)).toEqual([1, 1, 1, 1]);
    });
    test('in parts of 10,000 it is the same', async () => {
      const scene = await Scene.of(pool, oneEach(10_002));
      const ids = await scene.plan(['a', 'b', 'c']);
      const rows = await scene.rows();
      expect(rows.every((row) => ids[(row['position'] as number) % 3] === row['chunk_id'])).toBe(true);
      expect((await chunks.openChunks(pool, scene.id)).map(({ n, open }) => [n, open])).toEqual([
        [3_334, 3_334],
        [3_334, 3_334],
        [3_334, 3_334],
      ]);
    });
    test('a turn is taken once, and never by an earlier run', async () => {
      const scene = await Scene.of(pool, oneEach(2));
      const take = (id: string, startedAtMs: number, turn: number) =>
        takeTurn(pool, scene.id, { id, startedAtMs, turn }, 10);
      expect(await take('one', 1_000, 1)).toMatchObject({ epoch: 1 });
      expect(await take('one', 1_000, 1)).toBeNull();
      expect(await take('one', 1_000, 2)).toMatchObject({ epoch: 1 });
      expect(await take('two', 2_000, 1)).toMatchObject({ epoch: 2 });
      expect(await take('one', 1_000, 3)).toBeNull();
    });
  });

  describe('results [E5]', () => {
    test('of a wrong sender, a foreign item, an item that is done, a closed chunk: refused, the row unchanged', async () => {
      const scene = await Scene.of(pool, oneEach(6));
      const [a, b] = (await scene.plan(['a', 'b'])) as [string, string];
      const epoch = await scene.take(a, 'a');
      await scene.take(b, 'b');
      expect(await scene.record(a, 'a', epoch, { position: 0 })).toMatchObject({ accepted: 1, open: true });
      const before = await scene.rows();
      const counts = (await scene.execution()).counts;
      expect(await scene.record(a, 'b', epoch, { position: 2 })).toBeNull(); // wrong sender
      expect(await scene.record(a, 'a', epoch + 1, { position: 2 })).toBeNull(); // another epoch
      expect(await scene.record(a, 'a', epoch, { position: 1 })).toMatchObject({ accepted: 0 }); // an item of the other chunk
      expect(await scene.record(a, 'a', epoch, { position: 0, stdout: 'again' })).toMatchObject({ accepted: 0 }); // a replay
      expect(await scene.record(a, 'a', epoch, { position: 77 })).toMatchObject({ accepted: 0 });
      expect(await scene.record(randomUUID(), 'a', epoch, { position: 2 })).toBeNull();
      expect(await scene.rows()).toEqual(before);
      expect((await scene.execution()).counts).toEqual(counts);
    });
    test('before its node has taken the chunk nothing counts; it is taken once', async () => {
      const scene = await Scene.of(pool, oneEach(1));
      const [a] = (await scene.plan(['a'])) as [string];
      expect(await scene.record(a, 'a', 1, { position: 0 })).toBeNull();
      expect(await chunks.takeChunk(pool, a, 'b', 1_000)).toBeNull();
      await scene.take(a, 'a');
      expect(await chunks.takeChunk(pool, a, 'a', 1_000)).toBeNull();
    });
    test('a late result of an old chunk after the requeue is refused; no attempt was consumed by the loss', async () => {
      const scene = await Scene.of(pool, oneEach(2));
      const [old] = (await scene.plan(['a'])) as [string];
      const epoch = await scene.take(old, 'a', 0);
      expect(await chunks.closeChunk(pool, old, 'expired')).toBe(true);
      expect(await chunks.giveBackItems(pool, old)).toMatchObject({ left: 0 });
      expect(await scene.states()).toEqual([0, 0]);
      const [fresh] = (await scene.plan(['b'])) as [string];
      const next = await scene.take(fresh, 'b');
      expect(await scene.record(old, 'a', epoch, { position: 0 })).toBeNull();
      expect((await scene.rows()).map((row) => [row['state'], row['attempts']])).toEqual([
        [1, 0],
        [1, 0],
      ]);
      expect(await scene.record(fresh, 'b', next, { position: 0 }, { position: 1 })).toMatchObject({
        accepted: 2,
        open: false,
        state: 100,
      });
    });
    test('complete at once when the last item is 100 or -2, and not before [E9]', async () => {
      const scene = await Scene.of(pool, oneEach(3), 1);
      const [a, b] = (await scene.plan(['a', 'b'])) as [string, string];
      const [ea, eb] = [await scene.take(a, 'a'), await scene.take(b, 'b')];
      expect(await scene.record(a, 'a', ea, { position: 0 }, { position: 2, ok: false, exitCode: 1 })).toMatchObject({
        state: 1,
        pending: 0,
        open: false,
      });
      expect(await scene.execution()).toMatchObject({
        state: 1,
        counts: { done: 1, permanentlyFailed: 1, inProgress: 1 },
      });
      expect(await scene.record(b, 'b', eb, { position: 1 })).toMatchObject({ state: 100 });
      expect((await scene.execution()).finishedAt).not.toBeNull();
    });
    test.each([
      [2, 2],
      [50, 10],
      [0, 10],
    ])('max_attempts %i with the operator at 10: %i runs, then -2 [E10]', async (asked, expected) => {
      const scene = await Scene.of(pool, oneEach(1), asked);
      let rounds = 0;
      for (; (await scene.states())[0]! >= -1 && rounds < 100; rounds++) {
        const [chunk] = (await scene.plan([`n${rounds}`])) as [string];
        const epoch = await scene.take(chunk, `n${rounds}`);
        await scene.record(chunk, `n${rounds}`, epoch, { position: 0, ok: false, exitCode: 1 });
      }
      expect(rounds).toBe(expected);
      expect(await scene.rows()).toMatchObject([{ state: -2, attempts: expected }]);
      expect(await scene.execution()).toMatchObject({ state: 100 });
    });
    test('two that write the last two results at once complete it exactly once', async () => {
      for (let i = 0; i < rounds(15, 50); i++) {
        const scene = await Scene.of(pool, oneEach(2));
        const [a, b] = (await scene.plan(['a', 'b'])) as [string, string];
        const [ea, eb] = [await scene.take(a, 'a'), await scene.take(b, 'b')];
        const both = await Promise.all([
          scene.record(a, 'a', ea, { position: 0 }),
          scene.record(b, 'b', eb, { position: 1 }),
        ]);
        expect(both.map((one) => one!.state).sort()).toEqual([1, 100]);
      }
    });
  });

  describe('leases', () => {
    test('a chunk is closed as lost only past its lease, as undelivered only before it was taken', async () => {
      const scene = await Scene.of(pool, oneEach(2));
      const [a, b] = (await scene.plan(['a', 'b'])) as [string, string];
      const epoch = await scene.take(a, 'a', 60_000);
      expect(await chunks.closeChunk(pool, a, 'expired')).toBe(false);
      expect(await chunks.closeChunk(pool, a, 'undelivered')).toBe(false);
      expect(await chunks.closeChunk(pool, a, 'returned', 'b')).toBe(false);
      expect(await chunks.renewChunk(pool, a, 'a', epoch, 0)).toBe(true);
      expect(await chunks.renewChunk(pool, a, 'b', epoch, 60_000)).toBe(false);
      // Expired and nobody acted on it: its node may still renew.
      expect(await chunks.renewChunk(pool, a, 'a', epoch, 0)).toBe(true);
      expect(await chunks.closeChunk(pool, a, 'expired')).toBe(true);
      expect(await chunks.renewChunk(pool, a, 'a', epoch, 60_000)).toBe(false);
      expect(await chunks.closeChunk(pool, b, 'undelivered')).toBe(true);
      expect(await chunks.takeChunk(pool, b, 'b', 1_000)).toBeNull();
    });
    test('large chunks are given back in parts; a crash between them loses none', async () => {
      const scene = await Scene.of(pool, oneEach(11_000));
      const [a] = (await scene.plan(['a'])) as [string];
      await chunks.closeChunk(pool, a, 'undelivered');
      expect(await chunks.giveBackItems(pool, a)).toMatchObject({ left: 1_000 });
      expect(await chunks.openChunks(pool, scene.id)).toMatchObject([{ id: a, state: -1, open: 1_000 }]);
      expect(await chunks.giveBackItems(pool, a)).toMatchObject({ left: 0 });
      expect(await scene.execution()).toMatchObject({ counts: { created: 11_000, inProgress: 0 } });
    });
  });

  test('cancel: nothing more is taken or planned, an end is not undone, and nobody is woken for it', async () => {
    const scene = await Scene.of(pool, oneEach(4));
    const [a, b] = (await scene.plan(['a', 'b'])) as [string, string];
    const epoch = await scene.take(a, 'a');
    await scene.record(a, 'a', epoch, { position: 0 });
    expect(await cancelExecution(pool, scene.id)).toBe(1);
    expect(await chunks.takeChunk(pool, b, 'b', 1_000)).toBeNull();
    await expect(scene.plan(['c'])).rejects.toThrow('refused');
    for (const chunk of [a, b]) {
      expect(await chunks.closeChunk(pool, chunk, 'cancelled')).toBe(true);
      await chunks.giveBackItems(pool, chunk);
    }
    expect(await scene.record(a, 'a', epoch, { position: 2 })).toBeNull();
    expect(await scene.states()).toEqual([100, 0, 0, 0]);
    expect(await cancelExecution(pool, scene.id)).toBe(-3);
    await pool.query(`update execution set resume_at = clock() - interval '1 day' where state in (0, 1)`);
    expect(await dueExecutions(pool, 1_000, 60_000)).not.toContain(scene.id);
    expect(await cancelExecution(pool, randomUUID())).toBeNull();
  });
});
