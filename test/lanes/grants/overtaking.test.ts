import type { Client } from '../../../client';
import { createClient } from '../../../client';
import type { Handler } from '../../../handlers';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, temporalAddress } from '../../helpers/database';
import { Downstream, items } from '../downstream';

/**
 * Nothing goes past a lane (C7), and its rules do not change under what is in flight; no worker
 * here.
 */

let database: TestDatabase;
const clients: Client[] = [];
const clientOf = (...handlers: Handler[]): Client => {
  const client = createClient({
    databaseUrl: database.url,
    prefix: `t-${database.name}`,
    temporal: { address: temporalAddress() },
    handlers,
  });
  clients.push(client);
  return client;
};
const handler = (options: Parameters<Downstream['handler']>[0] = {}): Handler => new Downstream().handler(options);
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await database.drop();
});
const count = async (table: string): Promise<number> =>
  (await database.pool.query<{ n: number }>(`select count(*)::int as n from ${table}`)).rows[0]!.n;

describe('single tasks of a handler that keeps order [C7]', () => {
  test('of a target that submitBatch has bound, they stand in its lane, behind the batch', async () => {
    const client = clientOf(handler());
    const { batch } = await client.submitBatch('edits', 'po-1', items('po-1'));
    const other = clientOf(handler()); // another process, which does not know of the binding
    const [task] = items('po-1');
    expect(await other.submit('edits', task!)).toMatchObject({ accepted: 1 });
    expect([await count('queue'), await count('lane_queue')]).toEqual([0, 1]);
    const { rows } = await database.pool.query<{ behind: boolean }>(
      'select q.seq > s.seq as behind from lane_queue q join lane_batch s on s.lane_id = q.lane_id where s.batch_id = $1',
      [batch],
    );
    expect(rows).toEqual([{ behind: true }]);
    await expect(other.submit('edits', { ...items('po-1')[0]!, priority: 1 })).rejects.toThrow(
      /priority: expected no priority in a lane/,
    );
  });

  test('of a target that is bound to none they are refused, with the remedy; nothing is stored', async () => {
    const client = clientOf(handler());
    const before = await count('task');
    await expect(client.submit('edits', items('nowhere')[0]!)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(
        /^target: expected a target already bound to a lane.*"edits".*got "nowhere".*service.*submitBatch/s,
      ),
    });
    expect(await count('task')).toBe(before);
  });

  test('a handler that keeps no order has no lanes: submitBatch is refused, with the remedy', async () => {
    const client = clientOf(handler({ name: 'plain', lane: undefined }));
    await expect(client.submitBatch('plain', 'po-2', items('po-2'))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/^handler: expected an ordered handler, with `lane`.*got "plain".*overtake/s),
    });
  });

  test('a target with tasks of the time before its handler kept order is not bound until they have ended', async () => {
    const before = clientOf(handler({ name: 'changed', lane: undefined }));
    const [task] = items('old');
    await before.submit('changed', task!);
    const after = clientOf(handler({ name: 'changed' }));
    await expect(after.submitBatch('changed', 'old', items('old'))).rejects.toMatchObject({
      code: 'TARGET_BUSY',
      message: expect.stringMatching(/^service: .*target "old" of handler "changed".*cancel them/s),
    });
    await before.cancel(task!.id);
    expect(await after.submitBatch('changed', 'old', items('old'))).toMatchObject({ accepted: true });
  });
});

describe('a service named from the payload [C5]', () => {
  const named = handler({ name: 'named', service: (_, edit) => `order ${edit.price}` });
  test('a target whose tasks name two services is refused', async () => {
    const client = clientOf(named);
    await client.submit('named', items('t-1', 1, { price: 1 })[0]!);
    await expect(client.submit('named', items('t-1', 1, { price: 2 })[0]!)).rejects.toThrow(/already bound.*order 2/s);
    await expect(
      client.submit('named', [...items('t-2', 1, { price: 1 }), ...items('t-2', 1, { price: 2 })]),
    ).rejects.toThrow(/already bound/);
    await expect(client.submitBatch('named', 'order 1', items('t-1', 1, { price: 2 }))).rejects.toThrow(/order 2/);
  });
});

describe('rules of a lane [C7]', () => {
  const ruled = (lane: object): Client => clientOf(handler({ name: 'ruled', lane }));
  const rulesOf = async (service: string) =>
    (
      await database.pool.query('select kind, approach, on_invalid, pending_limit from lane where service = $1', [
        service,
      ])
    ).rows[0];

  test('a changed approach, kind or halt is refused while something is in flight, and taken when nothing is', async () => {
    const { batch } = await ruled({ approach: 'parallel' }).submitBatch('ruled', 'rules-1', items('rules-1'));
    await database.pool.query(
      `update lane_state set pending = 1 where lane_id = (select lane_id from lane_batch where batch_id = $1)`,
      [batch],
    );
    for (const lane of [
      { approach: 'unconstrained' },
      { approach: 'parallel', kind: 'guaranteed' },
      { approach: 'parallel', onInvalid: 'halt' },
    ])
      await expect(ruled(lane).submitBatch('ruled', 'rules-1', items('rules-1'))).rejects.toMatchObject({
        code: 'LANE_BUSY',
        message: expect.stringMatching(
          /handler "ruled", lane: lane "rules-1": Cannot change kind or approach: 1 of .*\. Pause the lane, wait/s,
        ),
      });
    expect(await rulesOf('rules-1')).toMatchObject({ approach: 2, kind: 1, on_invalid: 0 });
    await database.pool.query('update lane_state set pending = 0, ready = false');
    await ruled({ approach: 'serial', onInvalid: 'halt' }).submitBatch('ruled', 'rules-1', items('rules-1'));
    expect(await rulesOf('rules-1')).toMatchObject({ approach: 1, on_invalid: 1 });
  });

  test('another pending limit is taken at once', async () => {
    const { batch } = await ruled({}).submitBatch('ruled', 'rules-2', items('rules-2'));
    await database.pool.query(
      `update lane_state set pending = 1 where lane_id = (select lane_id from lane_batch where batch_id = $1)`,
      [batch],
    );
    await ruled({ pendingLimit: 7 }).submitBatch('ruled', 'rules-2', items('rules-2'));
    expect(await rulesOf('rules-2')).toMatchObject({ pending_limit: 7 });
  });

  test('of another handler that uses the service they are not taken', async () => {
    await ruled({ approach: 'parallel' }).submitBatch('ruled', 'rules-3', items('rules-3'));
    await clientOf(handler({ name: 'guest', lane: { onInvalid: 'halt' } })).submitBatch(
      'guest',
      'rules-3',
      items('rules-3'),
    );
    expect(await rulesOf('rules-3')).toMatchObject({ approach: 2, on_invalid: 0 });
  });
});

test('one item without keys in a batch: nothing is declared, so that it conflicts with every other [C25]', async () => {
  const client = clientOf(handler());
  const [a] = items('sets', 1, { reads: ['r'], writes: ['a'] });
  const [b] = items('sets');
  const setsOf = async (batch: number) => {
    const { reads, writes } = (await client.batchStatus(batch))!;
    return { reads, writes };
  };
  expect(await setsOf((await client.submitBatch('edits', 'sets', [a!, b!])).batch)).toEqual({ reads: [], writes: [] });
  const [c] = items('sets', 1, { writes: ['c'] });
  const [d] = items('sets');
  const declared = await client.submitBatch('edits', 'sets', [c!, d!], { reads: ['x'] });
  expect(await setsOf(declared.batch)).toEqual({ reads: ['x'], writes: ['c'] });
});
