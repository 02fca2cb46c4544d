import type { Explanation } from '../../client';
import { touchNode } from '../../postgres/nodes/node';
import { TASK_STATES } from '../../workflows/planning/states';
import type { Shop } from './shop';
import { cut, endAlone, items, openShop } from './shop';

/**
 * The facts are read right: each kind of obstacle, put into the store by hand. What is said of
 * them: test/planning/explain/explain.test.ts.
 */
let shop: Shop;
beforeEach(async () => {
  shop = await openShop({
    concurrency: { perTarget: 1 },
    limits: { maxItems: 3, minItems: 2, maxBytes: 5_000, maxWeightInFlight: { perTarget: 10 } },
    linger: { lingerMs: 60_000, quietPeriodMs: 30_000 },
    distinctBy: (item) => item.key ?? `own ${item.note ?? ''}`,
  });
  await run(
    `insert into node (id, task_queue, handlers, started_at, seen_at) values ('n1', 'q', '{items}', clock(), clock())`,
    [],
  );
});
afterEach(() => shop.stop());

const run = (text: string, values: unknown[] = []): Promise<unknown> => shop.pool.query({ text, values });
const submit = (...ids: string[]): Promise<unknown> =>
  shop.client.submit(
    'items',
    ids.map((id) => ({ id, payload: { to: 'se', note: id } })),
  );
const explain = (id: string): Promise<Explanation> => shop.client.explain(id);
const near = (ms: number | null, expected: number): void => {
  expect(ms).toBeLessThanOrEqual(expected);
  expect(ms).toBeGreaterThan(expected - 20_000); // a slow machine
};

test('size, quiet, linger: the head of the queue with its own settings [G13]', async () => {
  await submit('a');
  const alone = await explain('a');
  expect(alone).toMatchObject({
    state: 'created',
    waitsFor: 'linger',
    facts: { target: { maxItems: 3, minItems: 2, lingerMs: 60_000, quietMs: 30_000 } },
  });
  near(alone.nextStepInMs, 60_000);
  expect(alone.facts).toMatchObject({
    queued: { ahead: 0, waiting: 1, flushed: false, full: false },
    delayedInMs: null,
    batch: null,
  });
  await submit('b');
  const two = await explain('a');
  expect(two.waitsFor).toBe('quiet');
  near(two.nextStepInMs, 30_000);
  await run(`update queue set ready_at = clock() - interval '31 s'`);
  await shop.client.setTarget('items', 'se', { minItems: 3 });
  expect(await explain('b')).toMatchObject({ waitsFor: 'size', facts: { queued: { ahead: 1, waiting: 2 } } });
  await submit('c', 'd');
  expect(await explain('d')).toMatchObject({ waitsFor: 'leader', facts: { queued: { ahead: 3, waiting: 3 } } });
});

test('how late timers fire is what a live node has measured, at most', async () => {
  await submit('a');
  expect((await explain('a')).facts.timersLateMs).toBeNull();
  const node = { taskQueue: 'q', handlers: ['items'], version: '1', draining: false };
  await touchNode(shop.pool, { ...node, id: 'n2', timersLateMs: 10_000 });
  await touchNode(shop.pool, { ...node, id: 'n3', timersLateMs: 12 });
  const late = await explain('a');
  expect(late.facts.timersLateMs).toBe(10_000);
  expect(late.text).toContain("Within 10 s after that (the server's timers fire up to 10 s late)");
  await run(`update node set seen_at = clock() - interval '1 min' where id = 'n2'`);
  const inTime = await explain('a');
  expect([inTime.facts.timersLateMs, inTime.text]).toEqual([12, expect.not.stringContaining('timers')]);
});

test('a flush, and a batch that is full by bytes [G13]', async () => {
  await submit('a');
  await shop.client.flush('items', 'se');
  expect(await explain('a')).toMatchObject({ waitsFor: 'leader', facts: { queued: { flushed: true } } });
  await shop.client.submit('items', { id: 'big', payload: { to: 'no', key: 'k', note: 'x'.repeat(4_900) } });
  expect((await explain('big')).facts.queued!.full).toBe(false);
  await run('update queue set bytes = 5000 where bytes > 4900');
  expect((await explain('big')).facts.queued!.full).toBe(true);
});

test('notBefore and the backoff of a retry [G13]', async () => {
  await shop.client.submit('items', { id: 'later', payload: { to: 'se' }, notBefore: Date.now() + 3_600_000 });
  const later = await explain('later');
  expect(later.waitsFor).toBe('delay');
  near(later.nextStepInMs, 3_600_000);
  await run('update delayed set attempts = 2');
  expect(await explain('later')).toMatchObject({ waitsFor: 'retry', facts: { attempts: 2 } });
});

test('pause, with its reason, and holds [G13]', async () => {
  await submit('a');
  await shop.client.pause('items', { target: 'se', reason: 'invoice dispute' });
  expect(await explain('a')).toMatchObject({
    waitsFor: 'pause',
    text: expect.stringMatching(/Target "se" is paused.*invoice dispute/) as string,
  });
  await shop.client.pause('items', { reason: 'moving house' });
  expect(await explain('a')).toMatchObject({
    waitsFor: 'pause',
    text: expect.stringContaining('moving house') as string,
  });
  await shop.client.resume('items');
  await shop.client.resume('items', { target: 'se' });
  await run(`update target set hold_until = clock() + interval '1 hour'`);
  near((await explain('a')).nextStepInMs, 3_600_000);
  await run(`update handler set hold_until = clock() + interval '2 hours'`);
  const held = await explain('a');
  expect(held.waitsFor).toBe('hold');
  near(held.nextStepInMs, 7_200_000);
});

test('who holds the key: a live task, or the one before in the queue; the holder itself waits for none [G13 H6]', async () => {
  const payload = { to: 'se', key: 'k' };
  await shop.client.submit('items', [
    { id: 'one', payload },
    { id: 'two', payload },
    { id: 'three', payload },
  ]);
  expect(await explain('two')).toMatchObject({
    waitsFor: 'key',
    facts: { queued: { key: 'k', keyHolder: 'one', waiting: 1 } },
  });
  await cut(shop.pool, ['one']);
  await run(`insert into busy_key (target_id, key, seq) select target_id, key, seq from task where id = 'one'`);
  expect(await explain('three')).toMatchObject({
    waitsFor: 'key',
    facts: { queued: { keyHolder: 'one', waiting: 0 } },
  });
  await run(`update busy_key set seq = (select seq from task where id = 'two')`);
  expect((await explain('two')).facts.queued).toMatchObject({ keyHolder: null, waiting: 1 });
});

test('explain says that a task waits for a slot, or for weight [G13]', async () => {
  await submit('a', 'b', 'c', 'd');
  await cut(shop.pool, ['a'], { attempt: 1 });
  await run('update target set busy = true, due_at = null');
  expect(await explain('d')).toMatchObject({
    waitsFor: 'slot',
    facts: { target: { busy: true, inFlight: 1, weight: 1 }, handler: { perTarget: 1, slotsTaken: 1 } },
  });
  await run('update batch set dispatch = null, weight = 9, reference = $1, poll_at = clock()', ['r']);
  expect(await explain('d')).toMatchObject({
    waitsFor: 'weight',
    facts: { target: { inFlight: 0, weight: 9 }, handler: { weightPerTarget: 10 } },
  });
  await run('update target set busy = false, due_at = clock()');
  await run(`update leader set answer = '{"heldBy": "calls in flight"}'`);
  expect(await explain('d')).toMatchObject({
    waitsFor: 'slot',
    facts: { leader: { heldBy: 'calls in flight', state: 'working', name: '0' } },
  });
});

test('a leader that is idle, silent, or not there [G13 G14]', async () => {
  await submit('a', 'b', 'c');
  await run('update leader set state = 0, wake_at = null, expires_at = null');
  expect((await explain('a')).text).toContain('leader "0" is idle and was not woken: any worker');
  await run(`update leader set state = 1, expires_at = clock() - interval '1 min'`);
  const silent = await explain('a');
  expect(silent).toMatchObject({ waitsFor: 'leader', nextStepInMs: null });
  expect(silent.text).toContain('past its lease');
  await run(`update node set seen_at = clock() - interval '31 s'`);
  expect((await explain('a')).text).toContain('no live worker serves handler "items"');
});

test('batches: carried, called, refused for now, accepted, refused half [G13]', async () => {
  await submit('a', 'b');
  await cut(shop.pool, ['a']);
  expect(await explain('a')).toMatchObject({
    state: 'batched',
    waitsFor: 'slot',
    facts: { batch: { n: 1, attempt: 0, dispatched: true }, queued: null },
  });
  await run(`update batch set attempt = 1, attempt_until = clock() + interval '1 hour'`);
  const called = await explain('a');
  expect(called).toMatchObject({ state: 'in-progress', waitsFor: 'call' });
  near(called.nextStepInMs, 3_600_000);
  await run(
    `update batch set attempt_until = null, dispatch = null, refusals = 1, error = '429', retry_at = clock() + interval '1 hour'`,
  );
  const refused = await explain('a');
  expect(refused).toMatchObject({
    waitsFor: 'retry',
    text: expect.stringContaining('was refused for now: 429') as string,
  });
  near(refused.nextStepInMs, 3_600_000);
  await run(`update batch set retry_at = null, reference = 'job-9', poll_at = clock() + interval '1 hour'`);
  expect(await explain('a')).toMatchObject({ waitsFor: 'poll', facts: { batch: { reference: 'job-9' } } });
  await run(`update batch set reference = null, poll_at = null, refused = true`);
  expect(await explain('a')).toMatchObject({ waitsFor: 'call', text: expect.stringContaining('other half') as string });
});

test('parked and ended ones say why [G13]', async () => {
  await submit('a', 'b', 'c', 'd', 'e');
  await cut(shop.pool, ['a'], { state: TASK_STATES.unknown, error: 'connection reset' });
  expect(await explain('a')).toMatchObject({
    state: 'unknown',
    waitsFor: 'resolve',
    text: expect.stringContaining('connection reset') as string,
  });
  await cut(shop.pool, ['b', 'c'], { state: TASK_STATES.succeeded });
  await endAlone(shop.pool, 'c', TASK_STATES.dead, 'too often');
  await cut(shop.pool, ['d'], { state: TASK_STATES.failed, error: '422' });
  await shop.client.cancel('e');
  const texts = await Promise.all(['b', 'c', 'd', 'e'].map(async (id) => (await explain(id)).text));
  expect(texts).toEqual([
    'Succeeded after 1 counted attempt.',
    'Dead: its attempts are used up (1): too often. It can be redriven.',
    'Failed permanently after 1 counted attempt: 422. It can be redriven.',
    'Cancelled before it reached the downstream.',
  ]);
});

test('an id that is not there', async () => {
  await expect(explain('nobody')).rejects.toThrow(
    'Task "nobody" not found. It was never accepted, or it was deleted after its retention period.',
  );
  await expect(explain('')).rejects.toThrow('id: expected a non-empty string without NUL, got "".');
});

test('without distinctBy the whole head counts', async () => {
  await shop.stop();
  shop = await openShop({ limits: { maxItems: 3 } });
  await shop.client.submit('items', items('se', 'a', 'b'));
  expect((await explain('b')).facts.queued).toMatchObject({ ahead: 1, waiting: 2, key: null, keyHolder: null });
});
