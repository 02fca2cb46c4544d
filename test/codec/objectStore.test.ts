import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { ExampleProcess } from '../../examples/support/child';
import type { ObjectStore } from '../../client';
import { defineHandler } from '../../client';
import { sealerOf } from '../../handlers/codec/sealer';
import { s3Store } from '../../handlers/objectStores/s3';
import { inTransaction } from '../../postgres/pool';
import { Retention } from '../../postgres/sweeper/retention';
import * as unneeded from '../../postgres/unneededObject';
import { UnneededObjects } from '../../workers/sweeper/unneededObjects';
import { Examples } from '../examples/helpers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/** Large values in a bucket of moto, a server of S3's protocol that others wrote. @slow */

const INSTALL_MS = 310_000;
const LIMIT = { timeoutMs: 60_000 };
const Bucket = 'values';
const examples = new Examples();
let s3: S3Client;
let server: ExampleProcess;

/** The store of all of these tests: it counts, and is away or does more where a test says so. */
class Store implements ObjectStore {
  deletions = 0;
  away = false;
  onPut: ((key: string) => Promise<unknown>) | null = null;
  private readonly s3 = () => s3Store({ client: s3, bucket: Bucket, prefix: 'muster/' });

  async put(key: string, data: Uint8Array): Promise<void> {
    await this.s3().put(key, data);
    await this.onPut?.(key);
  }
  get(key: string): Promise<Uint8Array | null> {
    return this.s3().get(key);
  }
  async delete(key: string): Promise<void> {
    this.deletions++;
    if (this.away) throw new Error('no bucket today');
    await this.s3().delete!(key);
  }
}
const store = new Store();
const objectStore = { store, overBytes: 1_024 };

const big = 'x'.repeat(2_000);
const base = { limits: { maxItems: 100 }, linger: { lingerMs: 50 }, retentionMs: 1_000 };
const orders = defineHandler<{ to: string; text: string }>({
  ...base,
  name: 'orders',
  target: ({ to }) => to,
  submit: async ({ tasks }) => ({
    results: tasks.map(({ id, payload }) => ({ id, status: 'ok' as const, result: payload.text })),
  }),
});
const ledger = defineHandler<{ to: string; text: string }>({
  ...base,
  name: 'ledger',
  lane: {},
  target: ({ to }) => to,
  service: (target) => target,
  submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
});

let muster: TestMuster;
beforeAll(async () => {
  server = await examples.start('sqs/server', ['--queues', ''], { readyMs: INSTALL_MS });
  s3 = new S3Client({
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    endpoint: server.url,
    forcePathStyle: true,
  });
  await s3.send(new CreateBucketCommand({ Bucket }));
  muster = await startMuster([orders, ledger], { objectStore, sweepEveryMs: 100 });
}, INSTALL_MS);
afterAll(async () => {
  await expectWhole(muster.client);
  await muster.stop();
  s3.destroy();
  await examples.stopAll();
});

const keys = async (): Promise<string[]> =>
  ((await s3.send(new ListObjectsV2Command({ Bucket }))).Contents ?? []).map(({ Key }) => Key!);
const entries = async (): Promise<{ key: string; taken: boolean; tries: number; error: string | null }[]> =>
  (
    await muster.database.pool.query(
      'select key, taken, tries, error from unneeded_object where due_at is not null order by due_at',
    )
  ).rows;
const makeDue = () =>
  muster.database.pool.query('update unneeded_object set due_at = clock() where due_at is not null');
const task = (id: string, text = big) => ({ id, payload: { to: 'x', text } });
/** Waits until no object and no entry is left. */
const empty = () =>
  eventually(async () => (await keys()).length === 0 && (await entries()).length === 0, {
    timeoutMs: 30_000,
    what: async () => `an empty bucket: ${JSON.stringify([await keys(), await entries()])}`,
  });

test('an object is put, read and deleted; a missing one is null, and an absent bucket an error', async () => {
  const own = s3Store({ client: s3, bucket: Bucket, prefix: 'own/' });
  await own.put('a', Buffer.from('ä'));
  expect(Buffer.from((await own.get('a'))!).toString()).toBe('ä');
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: 'own/a' }));
  expect(await Body!.transformToString()).toBe('ä');
  expect(await own.get('b')).toBeNull();
  await own.delete!('a');
  await own.delete!('a');
  expect(await own.get('a')).toBeNull();
  await expect(s3Store({ client: s3, bucket: 'nowhere' }).get('a')).rejects.toThrow(/bucket/);
  expect(() => s3Store({ client: {} as S3Client, bucket: '', prefix: 'p'.repeat(901) })).toThrow(
    /client: expected an S3Client.*bucket: expected the name.*prefix: expected text of at most 900/s,
  );
});

test('payloads and results of tasks of every way in lie in the bucket, and go with their tasks', async () => {
  const { client, database } = muster;
  await client.pause('orders');
  await client.submit('orders', [task('small', 'x'), task('few')]);
  await client.submit(
    'orders',
    Array.from({ length: 60 }, (_, i) => task(`copy-${i}`)),
  );
  await client.submit('orders', { ...task('held'), dependsOn: ['few'] });
  await inTransaction(database.pool, (tx) => client.submit('orders', task('tx'), { tx }));
  await client.submit('ledger', task('single'));
  await client.batches.submit('ledger', 'x', [task('item')]);
  expect(await entries()).toEqual([]);
  await eventually(async () => (await keys()).length >= 65);
  await client.resume('orders');
  await eventually(
    async () => (await client.getTask('tx')) === null || (await client.getTask('tx'))!.state === 'succeeded',
  );
  await empty();
  expect(await client.getTask('few')).toBeNull();
});

test('a result that is kept as an object can be read until its task is deleted', async () => {
  const slow = defineHandler<{ text: string }>({
    ...base,
    retentionMs: 3_600_000,
    name: 'slow',
    target: () => 'one',
    submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const, result: big })) }),
  });
  const own = await startMuster([slow], { objectStore });
  await own.client.submit('slow', { id: 'result', payload: { text: 'short' } });
  const [ended] = await own.client.waitFor('result', LIMIT);
  expect(ended).toMatchObject({ result: big });
  expect(await keys()).toHaveLength(1);
  const { pool } = own.database;
  await pool.query(`update batch set finished_at = finished_at - interval '2 hours'`);
  await new Retention(undefined, { notesObjects: true }).deleteExpired(pool, 10);
  await eventually(async () => (await keys()).length === 0);
  await own.stop();
});

test('an object is struck off by the commit alone; refused, repeated and lost submits leave none behind', async () => {
  const { client, database } = muster;
  await client.pause('orders');
  await client.submit('orders', task('kept'));
  const [kept] = (await keys()).slice(-1);
  await client.submit('orders', task('kept')); // the same again
  await expect(client.submit('orders', task('kept', `${big}!`))).rejects.toMatchObject({
    problems: [{ code: 'ID_CONFLICT' }],
  });
  const back = inTransaction(database.pool, async (tx) => {
    await client.submit('orders', task('back'), { tx });
    throw new Error('rolled back');
  });
  await expect(back).rejects.toThrow('rolled back');
  expect((await entries()).map(({ taken }) => taken)).toEqual([false, false, false]);
  await makeDue();
  await eventually(async () => (await entries()).length === 0);
  expect(await keys()).toContain(kept);
  expect(await client.getTask('kept')).toMatchObject({ payload: { text: big } });
  await client.resume('orders');
  await eventually(async () => (await client.getTask('kept')) === null);
});

test('a submit that comes later than the deletion of its objects is refused, and nothing of it is stored', async () => {
  const { client, database } = muster;
  store.onPut = (key) => database.pool.query('update unneeded_object set taken = true where key = $1', [key]);
  await expect(client.submit('orders', task('late'))).rejects.toMatchObject({
    code: 'CODEC_FAILED',
    message: expect.stringMatching(/1 of 1 large payloads: expected a commit within 60 minutes/),
  });
  store.onPut = null;
  expect(await client.getTask('late')).toBeNull();
  await makeDue();
  await eventually(async () => (await entries()).length === 0);
});

test('what an open transaction has struck off is not deleted, and after its rollback it is', async () => {
  const { pool } = muster.database;
  await s3.send(new PutObjectCommand({ Bucket, Key: 'muster/open', Body: 'x' }));
  const tx = await pool.connect();
  await unneeded.noteObjects(pool, ['open'], 3_600_000);
  await tx.query('begin');
  await tx.query(`update unneeded_object set due_at = clock() - interval '1 s' where key = 'open'`);
  await tx.query('savepoint s');
  expect(await unneeded.strikeOffObjects(tx, ['open'])).toBe(1);
  expect(await unneeded.takeDueObjects(pool, 10)).toEqual([]);
  await tx.query('rollback to savepoint s');
  await tx.query('commit');
  tx.release();
  await eventually(async () => (await entries()).length === 0);
  expect(await keys()).not.toContain('muster/open');
});

test('while the store is away entries wait, longer each time, and say why; then all are deleted', async () => {
  const { client } = muster;
  store.away = true;
  store.deletions = 0;
  await client.submit('orders', task('away'));
  await eventually(async () => (await entries()).some(({ error }) => error === 'no bucket today'));
  expect(await client.getTask('away')).toBeNull();
  expect((await keys()).length).toBeGreaterThan(0);
  await makeDue();
  await eventually(async () => (await entries()).some(({ tries }) => tries > 1));
  expect(store.deletions).toBeLessThan(10);
  expect(await unneeded.countDueObjects(muster.database.pool)).toBeGreaterThan(0);
  store.away = false;
  await makeDue();
  await empty();
});

test('a process that dies between rows, object and entry leaves an entry, which the next one works off', async () => {
  const own = await startMuster([orders], { objectStore, sweepEveryMs: 0 }); // nothing deletes here
  const { client, database } = own;
  await client.submit('orders', [task('dies-1'), task('dies-2')]);
  await client.waitFor(['dies-1', 'dies-2'], LIMIT);
  await database.pool.query(`update batch set finished_at = finished_at - interval '1 hour'`);
  await new Retention(undefined, { notesObjects: true }).deleteExpired(database.pool, 100); // and it dies
  const [first] = await unneeded.takeDueObjects(database.pool, 1);
  await store.delete(first!); // and it dies
  await database.pool.query('update unneeded_object set due_at = clock()');
  expect(await unneeded.countDueObjects(database.pool)).toBe(4); // two payloads, two results
  const counts = { deletedObjects: 0 };
  const log = { warn: () => undefined, info: () => undefined };
  const next = new UnneededObjects({ pool: database.pool, sealer: sealerOf({ objectStore }), log });
  next.begin(counts);
  await eventually(() => counts.deletedObjects === 4);
  await next.stop();
  expect(await unneeded.countDueObjects(database.pool)).toBe(0);
  await expectWhole(client);
  await own.stop();
  await empty();
});

test('a verdict in the form of a reference is refused: it would delete an object of others', async () => {
  const result = { $codec: { object: { key: 'of-others', sha256: '', bytes: 1 } } };
  const refused = muster.client.resolve({ tasks: ['any'] }, { as: 'succeeded', result });
  await expect(refused).rejects.toThrow(/result: expected a value whose first field is not "\$codec"/);
});

test('without `delete` nothing is written down, and nothing is deleted', async () => {
  const { put, get } = store;
  const plain = { put: put.bind(store), get: get.bind(store) };
  const own = await startMuster([orders], { objectStore: { ...objectStore, store: plain }, sweepEveryMs: 100 });
  const { client, database } = own;
  await client.submit('orders', task('stays'));
  await eventually(async () => (await client.getTask('stays')) === null);
  const { rows } = await database.pool.query('select from unneeded_object');
  expect([rows.length, (await keys()).length]).toEqual([0, 2]);
  await own.stop();
  for (const key of await keys()) await store.delete(key.replace('muster/', ''));
});
