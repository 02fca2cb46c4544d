import { notifierWorkflowId } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import type { FanoutShop } from './shop';
import { chunks, openFanoutShop } from './shop';

/** The life of a fan-out: opened, added to, sealed, acked, complete. */

let shop: FanoutShop;
beforeAll(async () => {
  shop = await openFanoutShop();
});
afterAll(() => shop.stop());
afterEach(() => expectWhole(shop.client));

const open = async (options = {}): Promise<string> => (await shop.client.openFanout(options)).id;
const stateOf = async (id: string): Promise<string> => (await shop.client.getFanout(id))!.state;

test('add 1,000, seal: not complete; ack all: complete, once, with the user key [D1 D2]', async () => {
  const id = await open({ userKey: 'import 17' });
  const added = await shop.client.addItems(id, 1_000);
  expect(added.items).toBe(1_000);
  expect(await shop.client.sealFanout(id)).toEqual({ state: 'sealed', items: 1_000, completed: null });
  const answers = [];
  for (const ids of chunks(added, 100)) answers.push(await shop.client.ackItems(ids));
  expect(answers.map(({ completed }) => completed.length)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  expect(answers.at(-1)!.completed).toEqual([
    { id, userKey: 'import 17', items: 1_000, completedAt: expect.any(String) },
  ]);
  expect(await shop.client.getFanout(id)).toMatchObject({
    state: 'complete',
    open: 0,
    openSegments: 0,
    completedAt: answers.at(-1)!.completed[0]!.completedAt,
  });
});

test('ack 1: not complete; then all again: complete [D2 D4]', async () => {
  const id = await open();
  const ids = [...(await shop.client.addItems(id, 700))];
  await shop.client.sealFanout(id);
  expect(await shop.client.ackItems(ids[300]!)).toEqual({ items: 1, acked: 1, completed: [] });
  const all = await shop.client.ackItems(ids);
  expect(all).toMatchObject({ items: 700, acked: 699, completed: [{ id, items: 700 }] });
});

test('ten single adds, each acked while open: never complete; the seal completes it [D2 D3]', async () => {
  const id = await open({ userKey: 'ten' });
  for (let i = 0; i < 10; i++) {
    const answer = await shop.client.ackItems(await shop.client.addItems(id, 1));
    expect(answer).toEqual({ items: 1, acked: 1, completed: [] });
    expect(await stateOf(id)).toBe('open');
  }
  expect(await shop.client.sealFanout(id)).toMatchObject({
    state: 'complete',
    items: 10,
    completed: { id, userKey: 'ten' },
  });
  // The same seal again: harmless, and not reported a second time.
  expect(await shop.client.sealFanout(id)).toEqual({ state: 'complete', items: 10, completed: null });
});

test('seal first, ack all, ack all again: idempotent, the completion is not repeated [D4]', async () => {
  const id = await open({ notify: { workflowId: 'nobody' } });
  const added = await shop.client.addItems(id, 1_200, { itemsPerCall: 500 });
  await shop.client.sealFanout(id);
  expect(await shop.client.ackItems(added)).toMatchObject({ acked: 1_200, completed: [{ id }] });
  expect(await shop.client.ackItems(added)).toEqual({ items: 1_200, acked: 0, completed: [] });
  const { rows } = await shop.pool.query(
    `select n.body from notification n join fanout f on f.id = n.fanout_id where f.public_id = '${id}'`,
  );
  expect(rows).toEqual([{ body: expect.objectContaining({ type: 'fanout.completed', fanout: id, items: 1_200 }) }]);
});

test('add after the seal is refused; sealing an empty one completes at once [D1]', async () => {
  const id = await open();
  expect(await shop.client.sealFanout(id)).toMatchObject({ state: 'complete', items: 0, completed: { id } });
  await expect(shop.client.addItems(id, 1)).rejects.toMatchObject({ code: 'FANOUT_COMPLETE' });
  const sealed = await open();
  await shop.client.addItems(sealed, 5);
  await shop.client.sealFanout(sealed);
  await expect(shop.client.addItems(sealed, 1)).rejects.toThrow(
    `fan-out ${sealed}: expected an open fan-out, got sealed. Nothing was added`,
  );
  expect((await shop.client.getFanout(sealed))!.items).toBe(5);
});

test('20 items, ack #19: only #19 is acked [D12]', async () => {
  const ids = [...(await shop.client.addItems(await open(), 20))];
  await shop.client.ackItems(ids[19]!);
  expect(await shop.client.readItems(ids)).toEqual(ids.map((_, i) => i === 19));
  expect((await shop.client.getFanout(ids[0]!.split(':')[0]!))!.open).toBe(19);
});

test('size 100, set and clear 57; index 0 is an item [D12]', async () => {
  const id = await open({ segmentSize: 100 });
  const ids = [...(await shop.client.addItems(id, 100))];
  expect(await shop.client.ackItems(ids[57]!)).toMatchObject({ acked: 1 });
  expect(await shop.client.readItems([ids[57]!, ids[56]!, ids[58]!])).toEqual([true, false, false]);
  expect(await shop.client.reopenItems(ids[57]!)).toEqual({ items: 1, reopened: 1 });
  expect(await shop.client.readItems([ids[57]!])).toEqual([false]);
  expect(await shop.client.ackItems(ids[0]!)).toMatchObject({ acked: 1 });
  expect((await shop.client.getFanout(id))!.open).toBe(99);
  // A whole segment opened again counts as open again.
  await shop.client.ackItems(ids);
  expect((await shop.client.getFanout(id))!.openSegments).toBe(0);
  expect(await shop.client.reopenItems([ids[3]!, ids[4]!])).toEqual({ items: 2, reopened: 2 });
  expect(await shop.client.getFanout(id)).toMatchObject({ openSegments: 1, open: 2 });
  await shop.client.sealFanout(id);
  expect(await shop.client.ackItems(ids)).toMatchObject({ acked: 2, completed: [{ id }] });
  await expect(shop.client.reopenItems(ids[3]!)).rejects.toMatchObject({
    problems: [{ id: ids[3], code: 'FANOUT_COMPLETE' }],
  });
});

test('1,000 items sealed, 200 concurrent acks of 5 ids: complete, none lost [D11]', async () => {
  const id = await open();
  const ids = [...(await shop.client.addItems(id, 1_000))];
  await shop.client.sealFanout(id);
  const scattered = Array.from({ length: 200 }, (_, i) => [0, 1, 2, 3, 4].map((k) => ids[i + 200 * k]!));
  const answers = await Promise.all(scattered.map((part) => shop.client.ackItems(part)));
  expect(answers.reduce((sum, { acked }) => sum + acked, 0)).toBe(1_000);
  expect(answers.flatMap(({ completed }) => completed)).toEqual([expect.objectContaining({ id })]);
  expect(await stateOf(id)).toBe('complete');
});

test('100,000 items acked by 1,000 [D10 D13]', async () => {
  const id = await open({ segmentSize: 8_000 });
  const added = await shop.client.addItems(id, 100_000);
  await shop.client.sealFanout(id);
  const ids = [...added].reverse();
  expect(new Set(ids).size).toBe(100_000);
  const parts = chunks(ids, 1_000);
  const answers = await Promise.all(parts.map((part) => shop.client.ackItems(part, { idsPerCall: 1_000 })));
  expect(answers.flatMap(({ completed }) => completed)).toHaveLength(1);
  expect(await stateOf(id)).toBe('complete');
});

test('one row per segment: 8,001 items of segments of 8,000 are two; unused bits are 0 [D6 D9]', async () => {
  const id = await open({ segmentSize: 8_000 });
  const added = await shop.client.addItems(id, 8_001, { itemsPerCall: 10_000 });
  expect(await shop.client.getFanout(id)).toMatchObject({ items: 8_001, segments: 2, openSegments: 2, open: 8_001 });
  expect([...added].slice(-2)).toEqual([`${id}:0:7999`, `${id}:1:0`]);
  const { rows } = await shop.pool.query<{ no: number; size: number; bits: string }>(
    `select s.no, s.size, encode(s.bits, 'hex') as bits from segment s join fanout f on f.id = s.fanout_id where f.public_id = $1 order by s.no`,
    [id],
  );
  expect(rows).toEqual([
    { no: 0, size: 8_000, bits: 'ff'.repeat(1_000) },
    { no: 1, size: 1, bits: '01' },
  ]);
});

test('one call over many segments and fan-outs, in any order; each completion is answered [D5 D10]', async () => {
  const [a, b, c] = [await open({ userKey: 'a' }), await open({ userKey: 'b', segmentSize: 3 }), await open()];
  const ids = [
    ...(await shop.client.addItems(b, 10)),
    ...(await shop.client.addItems(a, 10)),
    ...(await shop.client.addItems(c, 1)),
  ];
  await shop.client.sealFanout(a);
  await shop.client.sealFanout(b);
  const { completed, acked } = await shop.client.ackItems([...ids.reverse(), ids[4]!], { idsPerCall: 1_000 });
  expect(acked).toBe(21);
  expect(completed.map(({ userKey }) => userKey).sort()).toEqual(['a', 'b']);
  expect(await stateOf(c)).toBe('open');
});

test.each(['an ack', 'the seal'])(
  'the notifier is woken by %s that completes a fan-out with a recipient',
  async (by) => {
    const own = await openFanoutShop(2);
    const notifier = (await own.client.temporal()).workflow.getHandle(notifierWorkflowId(own.client.prefix));
    const { id } = await own.client.openFanout({ notify: { workflowId: 'nobody' } });
    const added = await own.client.addItems(id, 2);
    if (by === 'an ack') await own.client.sealFanout(id);
    else await own.client.ackItems(added);
    await expect(notifier.describe()).rejects.toThrow('not found');
    if (by === 'an ack') await own.client.ackItems(added);
    else await own.client.sealFanout(id);
    const isWoken = (): Promise<boolean> =>
      notifier.describe().then(
        ({ status }) => status.name === 'RUNNING',
        () => false,
      );
    await eventually(isWoken, { timeoutMs: 20_000, what: 'the notifier' });
    await notifier.terminate();
    await own.stop();
  },
);
