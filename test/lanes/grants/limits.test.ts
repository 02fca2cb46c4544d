import type { ReferenceStatus } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import { Downstream, items, okay } from '../downstream';

/**
 * What a handler limits holds in lanes too: calls in flight, rate, weight in flight, equal keys,
 * what may wait (G1, G4, H6).
 */

const calls = new Downstream();
const perTarget = new Downstream();
const paced = new Downstream();
const heavy = new Downstream();
const keyed = new Downstream();
const bounded = new Downstream();
const slow = new Downstream();
const statuses = new Map<string, ReferenceStatus['status']>();
let muster: TestMuster;
beforeAll(async () => {
  const later: Downstream['answer'] = async (batch) => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return okay(batch);
  };
  perTarget.answer = keyed.answer = later;
  // On a busy machine 30 ms may be over before the second call begins.
  calls.answer = async (batch, ...more) => {
    await eventually(() => calls.mostInFlight >= 2, { what: 'the second call at once' });
    return later(batch, ...more);
  };
  const done = (reference: string): ReferenceStatus['status'] => statuses.get(reference) ?? 'pending';
  muster = await startMuster([
    calls.handler({ name: 'calls', concurrency: { perHandler: 2 } }),
    perTarget.handler({ name: 'per-target', lane: { approach: 'unconstrained' }, concurrency: { perTarget: 3 } }),
    paced.handler({ name: 'paced', rate: { limit: 10, perMs: 1_000, unit: 'calls' } }),
    heavy.handler({
      name: 'heavy',
      weightOf: (edit) => edit.price ?? 1,
      limits: { maxItems: 10, maxWeightInFlight: { perHandler: 10 } },
      submit: (batch) => {
        heavy.seen.push({ batch: Number(batch.id), service: batch.target, ids: [], attempt: 1, key: '', at: 0 });
        heavy.results.set(
          `heavy-${batch.id}`,
          batch.tasks.map(({ id }) => id),
        );
        return Promise.resolve({ status: 'accepted', reference: `heavy-${batch.id}` });
      },
      status: (references) => Promise.resolve(references.map((reference) => ({ reference, status: done(reference) }))),
      results: (reference) => heavy.results.get(reference)!.map((id) => ({ id, status: 'ok' as const })),
      poll: { everyMs: 20, deadlineMs: 60_000 },
    }),
    keyed.handler({
      name: 'keyed',
      distinctBy: (edit) => String(edit.price ?? 0),
      service: (target) => target,
      lane: { approach: 'parallel' },
    }),
    bounded.handler({ name: 'bounded', maxQueued: { perTarget: 3, perHandler: 5 } }),
    slow.handler({ name: 'slow', service: (target) => target, linger: { lingerMs: 3_600_000 } }),
  ]);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));
const submitMany = async (handler: string, services: readonly string[], sets: object = {}): Promise<string[]> => {
  const batches = services.map((service) => ({ service, items: items(service), ...sets }));
  await muster.client.submitBatches(handler, batches);
  return batches.flatMap((batch) => batch.items.map(({ id }) => id));
};
const lanes = (prefix: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${prefix}-${i}`);

test('concurrency.perHandler: never more calls at once than that, over all lanes, and none is forgotten', async () => {
  const ids = await submitMany('calls', [...lanes('call', 12), ...lanes('call', 12)]);
  await muster.client.waitFor(ids, { timeoutMs: 60_000 });
  expect(calls.seen).toHaveLength(24);
  expect(calls.mostInFlight).toBe(2);
});

test('a lane that waits for a limit of its handler says so', async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const before = calls.answer;
  calls.answer = async (batch) => {
    await gate;
    return okay(batch);
  };
  const ids = await submitMany('calls', lanes('told', 3));
  const told = await eventually(async () =>
    (await muster.client.lanes({ after: 'tolc', limit: 3 })).find(({ state }) => state === 'back pressure'),
  );
  expect((await muster.client.lane(told.service)).batches[0]!.explanation).toMatch(/limit of its handler/);
  open();
  await muster.client.waitFor(ids);
  calls.answer = before;
});

test('concurrency.perTarget: in a lane of which many could go', async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  perTarget.answer = async (batch) => {
    await gate;
    return okay(batch);
  };
  const ids = await submitMany(
    'per-target',
    Array.from({ length: 9 }, () => 'wide'),
  );
  await eventually(() => perTarget.inFlight === 3);
  open();
  await muster.client.waitFor(ids, { timeoutMs: 60_000 });
  expect(perTarget.mostInFlight).toBe(3);
});

test('rate: calls of all lanes are spread evenly', async () => {
  const from = performance.now();
  const ids = await submitMany('paced', lanes('pace', 16));
  await muster.client.waitFor(ids, { timeoutMs: 60_000 });
  const at = paced.seen.map((call) => call.at).sort((a, b) => a - b);
  expect(at).toHaveLength(16);
  // 10 a second: none before its turn.
  for (const [i, time] of at.entries()) expect(time - from).toBeGreaterThanOrEqual(i * 100 - 5);
});

test('maxWeightInFlight: what the downstream has, pending included, is never heavier; given back at the end', async () => {
  const weights = [6, 4, 5, 5];
  const batches: number[] = [];
  for (const [i, price] of weights.entries())
    batches.push((await muster.client.submitBatch('heavy', `heavy-${i}`, items(`heavy-${i}`, 1, { price }))).batch);
  await eventually(() => heavy.seen.length === 2);
  await eventually(async () => (await muster.client.batchStatus(batches[1]!))!.status === 'pending');
  expect(new Set(heavy.seen.map(({ batch }) => batch))).toEqual(new Set(batches.slice(0, 2)));
  for (const batch of batches.slice(0, 2)) statuses.set(`heavy-${batch}`, 'done');
  await eventually(() => heavy.seen.length === 4);
  for (const batch of batches) statuses.set(`heavy-${batch}`, 'done');
  for (const batch of batches)
    await eventually(async () => (await muster.client.batchStatus(batch))!.status === 'committed');
  await expect(muster.client.submitBatch('heavy', 'heavy-9', items('heavy-9', 2, { price: 6 }))).rejects.toMatchObject({
    code: 'BATCH_TOO_LARGE',
    message: expect.stringMatching(/at most 10 units of weight in flight.*got 12/),
  });
});

test('distinctBy: equal keys share no batch and are not in flight together, in their order [H6]', async () => {
  const prices = [1, 2, 1, 3, 3];
  const some = prices.flatMap((price) => items('distinct', 1, { price, writes: [`w-${price}`] }));
  await muster.client.submit('keyed', some);
  await muster.client.waitFor(
    some.map(({ id }) => id),
    { timeoutMs: 60_000 },
  );
  const sent = keyed.seen.map((call) => call.ids.map((id) => prices[some.findIndex((task) => task.id === id)]));
  expect(sent).toEqual([[1, 2], [1, 3], [3]]);
  await expect(
    muster.client.submitBatch('keyed', 'distinct', items('distinct', 2, { price: 7 })),
  ).rejects.toMatchObject({
    code: 'KEY_CONFLICT',
    message: expect.stringMatching(/distinctBy: expected unique keys within a batch, but item 0 also has "7"/),
  });
  // Other state keys, the same key: the second waits for the commit of the first.
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  keyed.answer = async (batch) => {
    await gate;
    return okay(batch);
  };
  const of = (price: number, write: string) => ({
    service: 'apart',
    items: items('apart', 1, { price, writes: [write] }),
  });
  const [one, two, three] = await muster.client.submitBatches('keyed', [of(5, 'a'), of(5, 'b'), of(6, 'c')]);
  const isSent = (id: number): boolean => keyed.seen.some(({ batch }) => batch === id);
  await eventually(() => isSent(one!.batch) && isSent(three!.batch));
  expect(isSent(two!.batch)).toBe(false);
  expect((await muster.client.batchStatus(two!.batch))!.explanation).toMatch(/conflicts on key distinctBy:5/);
  open();
  await eventually(async () => (await muster.client.batchStatus(two!.batch))!.status === 'committed');
});

test.each([
  ['an unconstrained lane', { approach: 'unconstrained' as const }, /got lane.approach 'unconstrained'/],
  ['a downstream that keeps the order', { kind: 'guaranteed' as const }, /got lane.kind 'guaranteed'/],
])('distinctBy with %s is refused at load [H6]', (_, lane, message) => {
  const define = (more: object): unknown =>
    defineHandler({
      name: 'x',
      target: () => 't',
      limits: { maxItems: 1 },
      submit: () => Promise.resolve({ results: [] }),
      ...more,
    });
  expect(() => define({ distinctBy: () => 'k', lane })).toThrow(message);
  expect(() => define({ distinctBy: () => 'k', lane: { ...lane, onInvalid: 'halt' } })).not.toThrow();
  expect(() => define({ lane })).not.toThrow();
});

test('maxQueued: refused with Backlogged when it would be exceeded, given batches and single tasks counted', async () => {
  const { client } = muster;
  const first = items('bound-1');
  await client.submitBatch('bounded', 'bound-1', first);
  await client.waitFor(first[0]!.id);
  await client.pauseLane('bound-1');
  await client.submitBatch('bounded', 'bound-1', items('bound-1', 2));
  await client.submit('bounded', items('bound-1')[0]!);
  const full = { code: 'BACKLOGGED', depth: 3, limit: 3, scope: 'target "bound-1" of handler "bounded"' };
  await expect(client.submit('bounded', items('bound-1')[0]!)).rejects.toMatchObject(full);
  await expect(client.submitBatch('bounded', 'bound-1', items('bound-1'))).rejects.toMatchObject(full);
  await expect(client.submitBatch('bounded', 'bound-2', items('bound-2', 3))).rejects.toMatchObject({
    code: 'BACKLOGGED',
    scope: 'handler "bounded"',
    depth: 3,
    limit: 5,
  });
  await client.resumeLane('bound-1');
  await eventually(async () => (await client.submit('bounded', items('bound-1')[0]!).catch(() => null)) !== null);
});

test('flush: what waits for more in a lane goes at once, and is counted', async () => {
  const { client } = muster;
  const some = items('flushed', 3);
  await client.submit('slow', some);
  await eventually(async () => (await client.queuer())[0]!.state !== 'working');
  expect((await client.getTask(some[0]!.id))!.state).toBe('created');
  expect(await client.flush('slow', 'flushed')).toEqual({ targets: 1, tasks: 3 });
  await client.waitFor(some.map(({ id }) => id));
  expect(slow.seen.map((call) => call.ids)).toEqual([some.map(({ id }) => id)]);
  expect((await client.batch(slow.seen[0]!.batch))!.reason).toBe('manual');
  expect(await client.flush('slow')).toEqual({ targets: 0, tasks: 0 });
});
