import { lockPair, lockSibling } from '../../../postgres/calls/halves';
import { readMemberIds, readMembersOf } from '../../../postgres/calls/members';
import { insertChild } from '../../../postgres/calls/settle';
import { inTransaction } from '../../../postgres/pool';
import { tapPool } from '../../chaos/judge/tap';
import type { Place } from '../rows/rows';
import { at, Rows } from '../rows/rows';

/** Batches that were split, and what is still in a batch. */

let rows: Rows;
let place: Place;
beforeAll(async () => {
  rows = await Rows.open();
  place = await rows.place('jobs');
});
afterAll(() => rows.close());

/** A batch that was split, and its halves. */
const halved = async (): Promise<{ parent: number; first: number; second: number }> => {
  const parent = await rows.batch(place, { members: [1, 2] });
  const half = (seq: number): Promise<number> => rows.batch(place, { members: [seq], parent_id: parent, depth: 1 });
  return { parent, first: await half(1), second: await half(2) };
};

test.each([
  ['of the first split', lockSibling],
  ['of a pair in a lane', lockPair],
])('the halves %s settle one after the other', async (_, lockOther) => {
  const { parent, first, second } = await halved();
  const settling = await rows.pool.connect();
  try {
    await settling.query('begin');
    expect(await lockOther(settling, parent, first)).toMatchObject({ id: second, state: 1, attempt: 0 });
    await settling.query('update batch set attempt = 1, refused = true where id = $1', [first]);
    const other = inTransaction(rows.pool, (client) => lockOther(client, parent, second));
    expect(await rows.whether(other)).toBe('waits');
    await settling.query('commit');
    // It sees what the first one wrote.
    expect(await other).toMatchObject({ id: first, attempt: 1, refused: true });
  } finally {
    await settling.query('rollback');
    settling.release();
  }
});

test.each([
  ['of the first split', lockSibling],
  ['of a pair in a lane', lockPair],
])('a half %s without another one has none', async (_, lockOther) => {
  const parent = await rows.batch(place, { members: [1, 2] });
  const only = await rows.batch(place, { members: [1], parent_id: parent, depth: 1 });
  expect(await inTransaction(rows.pool, (client) => lockOther(client, parent, only))).toBeNull();
});

/** A batch of three tasks, each tried this often before; those at `left` have left it. */
const ofThree = async (columns: object, attempts: number, left: number[] = []): Promise<[number, number[]]> => {
  const members = [await rows.task(place), await rows.task(place), await rows.task(place)];
  const id = await rows.batch(place, { members, n_left: left.length, ...columns });
  for (const [i, seq] of members.entries())
    if (!left.includes(i)) await rows.insert('member', { seq, batch_id: id, attempts });
  return [id, members];
};

test.each([
  ['fresh, all in it', { fresh: true }, 0, [], [0, 1, 2]],
  ['fresh, tried since, all in it', { fresh: true, counted: 2 }, 0, [], [0, 1, 2]],
  ['fresh, the first left', { fresh: true, counted: 1 }, 0, [0], [1, 2]],
  ['fresh, one in the middle left', { fresh: true }, 0, [1], [0, 2]],
  ['tried before, all in it', { counted: 1 }, 3, [], [0, 1, 2]],
  ['tried before, the last left', { counted: 1 }, 3, [2], [0, 1]],
] as [string, { fresh?: boolean; counted?: number }, number, number[], number[]][])(
  'the members of a batch are those that have not left, with their attempts: %s',
  async (_, columns, attempts, left, stay) => {
    const [id, members] = await ofThree(columns, attempts, left);
    const wanted = stay.map((i) => ({ seq: members[i]!, attempts: attempts + (columns.counted ?? 0) }));
    for (const found of [await readMembersOf(rows.pool, id), await readMemberIds(rows.pool, [id])])
      expect(found.map((member) => ({ seq: member.seq, attempts: member.attempts }))).toEqual(wanted);
  },
);

test('a part of a batch weighs what its tasks weigh, and takes them along with their attempts', async () => {
  const light = await rows.task(place, { bytes: 3 });
  const heavy = await rows.task(place, { bytes: 4, weight: 2.5 });
  const stays = await rows.task(place, { bytes: 5, weight: 9 });
  const parent = await rows.batch(place, { members: [light, heavy, stays], attempt: 2, counted: 1, started_at: at(0) });
  for (const seq of [light, heavy, stays]) await rows.insert('member', { seq, batch_id: parent, attempts: 1 });
  const part = { members: [light, heavy], state: 1, reason: 8, unconcluded: false, depth: 1, error: null };
  const id = await inTransaction(rows.pool, (client) => insertChild(client, parent, part));
  const [child] = await rows.query(
    'select parent_id as parent, n, members, bytes, weight, attempt, depth from batch where id = $1',
    [id],
  );
  expect(child).toEqual({ parent, n: 2, members: [light, heavy], bytes: 7, weight: 3.5, attempt: 0, depth: 1 });
  const places = await rows.query(
    'select seq, batch_id as batch, attempts from member where seq = any($1) order by seq',
    [[light, heavy, stays]],
  );
  expect(places).toEqual([
    { seq: light, batch: id, attempts: 3 },
    { seq: heavy, batch: id, attempts: 3 },
    { seq: stays, batch: parent, attempts: 1 },
  ]);
});

test('the tasks of a batch come with all they hold, whatever their sizes and the order of their rows', async () => {
  const none = { recipientId: null, version: null, trace: null, tracedAtMs: null };
  const tasks = [
    { payload: '{"text": "a,b\\u0001\\"\\u0000"}', rest: none },
    { payload: '[1,  2]', rest: { ...none, version: 3, trace: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } },
    { payload: JSON.stringify('x'.repeat(1_000)), rest: none },
  ];
  const seqs: number[] = [];
  for (const { payload, rest } of tasks)
    seqs.push(await rows.task(place, { payload, version: rest.version, trace: rest.trace }));
  // By priority, say: not in the order of their rows.
  const order = [2, 0, 1];
  const most = Math.floor(16_000_000 / order.length);
  const statements: string[] = [];
  tapPool(rows.pool, { before: ({ name }) => Promise.resolve(void statements.push(name)) });
  // What `bytesOf` says of it does not count: 3 bytes each.
  for (const length of [1_000, most - 2, most - 1, 2 * most]) {
    const payload = JSON.stringify('x'.repeat(length));
    seqs[2] = await rows.task(place, { payload });
    tasks[2] = { payload, rest: none };
    const id = await rows.batch(place, { members: order.map((i) => seqs[i]!), bytes: 3, fresh: true });
    statements.length = 0;
    expect(await readMembersOf(rows.pool, id)).toEqual(
      order.map((i) => {
        const { payload: text, rest } = tasks[i]!;
        const tracedAtMs = rest.trace === null ? null : expect.any(Number);
        return { batchId: id, seq: seqs[i], id: `task-${seqs[i]}`, attempts: 0, payload: text, ...rest, tracedAtMs };
      }),
    );
    expect(statements.includes('read-large-contents')).toBe(length + 2 > most);
  }
});
