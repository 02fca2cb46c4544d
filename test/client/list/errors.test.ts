import { randomBytes } from 'node:crypto';
import { MusterError } from '../../../client';
import { AesGcmCodec } from '../../../examples/codec/aesGcmCodec';
import type { TestMuster } from '../../helpers/muster';
import { startTroubled, trouble } from './troubled';

/** Errors of every kind, counted by what they have in common; in the clear and through a codec. */

let muster: TestMuster;
beforeAll(async () => {
  muster = await startTroubled(
    {},
    {
      orders: [
        ...trouble('fine', 'ok-1', 'ok-2'),
        ...trouble('bad', 'bad-1', 'bad-2', 'bad-3'),
        ...trouble('again', 'again-1', 'again-2'),
        ...trouble('lost', 'lost-1', 'lost-2'),
      ],
      final: trouble('again', 'final-1'),
    },
  );
}, 120_000);
afterAll(() => muster.stop());

const told = async (handler?: string) =>
  (await muster.client.errors.list(handler === undefined ? {} : { handler })).errors;

test('what failed, died, is parked or is tried again is counted by what the errors share', async () => {
  const found = await told();
  expect(found.map(({ handler, of, text, count }) => `${handler} ${of} ${count}: ${text}`).toSorted()).toEqual([
    'final dead 1: order final-<n> is locked since <time>',
    'orders failed 3: no order <str>',
    'orders retrying 2: order again-<n> is locked since <time>',
    expect.stringMatching(/^orders unknown 2: .*no answer after <n> tasks/),
  ]);
  expect(found.map(({ count }) => count)).toEqual([3, 2, 2, 1]);
  const [failed] = found;
  expect(failed!.error).toMatch(/^no order "bad-\d"$/);
  expect(failed!.tasks.toSorted()).toEqual(['bad-1', 'bad-2', 'bad-3']);
  expect(failed!.batches.length).toBeGreaterThan(0);
  expect(Date.parse(failed!.first)).toBeLessThanOrEqual(Date.parse(failed!.last));
  expect(failed).toMatchObject({
    list: "muster tasks orders --state failed --error 'no order'",
    again: expect.stringMatching(/^muster bulk redrive orders --state failed --error-group '/),
  });
});

test('of one handler only its own are counted, and since a time only later ones', async () => {
  expect((await told('final')).map(({ handler, of }) => [handler, of])).toEqual([['final', 'dead']]);
  const { client } = muster;
  const later = await client.errors.list({ since: new Date(Date.now() + 60_000) });
  expect(later).toMatchObject({ errors: [], complete: true });
  expect((await client.errors.list({ limit: 1 })).errors).toHaveLength(1);
  await expect(client.errors.list({ handler: 'none' })).rejects.toThrow(/Handler "none" not found/);
  for (const wrong of [{ since: 'soon' }, { since: -1 }, { limit: 0 }])
    await expect(client.errors.list(wrong)).rejects.toThrow(MusterError);
});

test('a task that waits for another attempt says why, also in the list that the entry names', async () => {
  expect(await muster.client.getTask('again-1')).toMatchObject({
    state: 'created',
    error: expect.stringMatching(/locked/),
  });
  const listed = await muster.client.tasks.list('orders', { state: 'created', error: 'is locked since' });
  expect(listed.tasks.map(({ id }) => id)).toEqual(['again-1', 'again-2']);
});

test('first and last are when the first and the last of them failed', async () => {
  const { pool } = muster.database;
  const { rows } = await pool.query<{ at: Date }>(`
insert into outcome (seq, target_id, state, attempts, error, at)
select -i, (select id from target order by id limit 1), 5, 1, 'planted', clock() - (i % 3) * interval '7 min'
from generate_series(1, 3) i
returning at`);
  try {
    const planted = (await told()).find(({ text }) => text === 'planted');
    const times = rows.map(({ at }) => at.toISOString()).toSorted();
    const [first, last] = [planted!.first, planted!.last].map((text) => new Date(text).toISOString());
    expect([first, last]).toEqual([times[0], times[2]]);
    expect(Date.parse(last!) - Date.parse(first!)).toBe(14 * 60_000);
  } finally {
    await pool.query('delete from outcome where seq < 0');
  }
});

test('more errors than are read: the newest are counted, and it says so', async () => {
  await muster.database.pool.query(`
insert into outcome (seq, target_id, state, attempts, error, at)
select -i, (select id from target order by id limit 1), 6, 1, 'error ' || i, clock() from generate_series(1, 10100) i`);
  try {
    const { errors, complete, looked } = await muster.client.errors.list();
    expect(errors[0]).toMatchObject({ of: 'dead', text: 'error <n>', count: 10_000 });
    expect({ complete, looked }).toEqual({ complete: false, looked: expect.any(Number) });
    expect(looked).toBeLessThan(10_100);
  } finally {
    await muster.database.pool.query('delete from outcome where seq < 0');
  }
});

test('with a codec they are grouped by what they say, which stands nowhere in the store', async () => {
  const payloadCodec = new AesGcmCodec(new Map([['k1', randomBytes(32)]]), 'k1');
  const sealed = await startTroubled({ payloadCodec }, { orders: trouble('bad', 'bad-1', 'bad-2') });
  try {
    const { errors } = await sealed.client.errors.list();
    expect(errors).toMatchObject([{ text: 'no order <str>', count: 2 }]);
    // As `list` says it.
    const { tasks } = await sealed.client.tasks.list('orders', { state: 'failed', error: 'no order' });
    expect(tasks.map(({ id, error }) => [id, error]).toSorted()).toEqual([
      ['bad-1', 'no order "bad-1"'],
      ['bad-2', 'no order "bad-2"'],
    ]);
    expect((await sealed.client.tasks.list('orders', { state: 'failed', error: 'other' })).tasks).toEqual([]);
    const { rows } = await sealed.database.pool.query('select from outcome where error ~ $1', ['no order']);
    expect(rows).toHaveLength(0);
  } finally {
    await sealed.stop();
  }
}, 120_000);
