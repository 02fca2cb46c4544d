import { defineHandler } from '../../handlers';
import { registerShare } from '../../postgres/limits/shared';
import { anotherNode } from '../helpers/anotherNode';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/** Limits that end by themselves, and waits that end with them, on two nodes. @slow */

const calls: { at: number; to: string }[] = [];
const handlerOf = (name: string) =>
  defineHandler<{ to: string }>({
    name,
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    target: ({ to }) => to,
    submit: (batch) => {
      calls.push({ at: performance.now(), to: batch.target });
      return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
    },
  });

const [quick, twin] = [handlerOf('quick'), handlerOf('twin')];

/** Its calls last until they are let go. */
const held: { ids: string[]; go: () => void }[] = [];
const heavy = defineHandler<{ to: string }>({
  name: 'heavy',
  limits: { maxItems: 1, maxWeight: 3, maxWeightInFlight: { perTarget: 100 } },
  linger: { lingerMs: 0 },
  target: ({ to }) => to,
  weightOf: () => 3,
  concurrency: { perTarget: 10 },
  submit: async ({ tasks }) => {
    await new Promise<void>((go) => held.push({ ids: tasks.map(({ id }) => id), go }));
    return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});

let muster: TestMuster;
let other: Awaited<ReturnType<typeof anotherNode>>;
beforeAll(async () => {
  muster = await startMuster([quick, twin, heavy]);
  other = await anotherNode(muster, [quick, twin, heavy]);
});
afterAll(async () => {
  await other.stop();
  await muster.stop();
});

const submit = (to: string, ...ids: string[]) =>
  muster.client.submit(
    'quick',
    ids.map((id) => ({ id, payload: { to } })),
  );

test('a rate of one call per hour ends after 3 s, by itself, and what waited for it goes', async () => {
  await submit('a', 'first');
  await muster.client.waitFor('first');
  await muster.client.limits.set('quick', { rate: { limit: 1, perMs: 3_600_000, unit: 'calls' } }, { forMs: 3_000 });
  const setAt = performance.now();
  await submit('a', 'a1', 'a2');
  await submit('b', 'b1');
  await muster.client.waitFor(['a1', 'a2', 'b1'], { timeoutMs: 20_000 });
  const begun = calls.filter(({ at }) => at > setAt).map(({ at }) => at - setAt);
  expect(begun.filter((ms) => ms < 2_900).length).toBeLessThanOrEqual(1);
  expect((await muster.client.status('quick'))[0]!.limitsSet).toEqual([]);
});

test('removing a slow rate of one target sends what waited for it at once, and holds nothing of others', async () => {
  await muster.client.limits.set(
    'quick',
    { rate: { limit: 1, perMs: 3_600_000, unit: 'calls' } },
    {
      target: 'a',
    },
  );
  await submit('a', 'a3', 'a4', 'a5');
  await submit('b', 'b2', 'b3');
  await muster.client.waitFor(['b2', 'b3']);
  await eventually(async () => {
    const waiting = await muster.client.explain('a5');
    return /The rate is 1 call per 60 min and target, set by /.test(waiting.text);
  });
  await muster.client.limits.remove('quick', { target: 'a' });
  await muster.client.waitFor(['a3', 'a4', 'a5'], { timeoutMs: 20_000 }); // of two hours
});

test('a shared rate of one call per hour holds both handlers, on both nodes, until it is removed', async () => {
  for (const name of ['quick', 'twin'])
    await registerShare(muster.database.pool, name, { name: 'key', rates: [], concurrency: 4 });
  await muster.client.sharedLimits.set('key', { rate: { limit: 1, perMs: 3_600_000, unit: 'calls' } });
  await submit('a', 'c1', 'c2');
  await muster.client.submit('twin', [
    { id: 'd1', payload: { to: 'a' } },
    { id: 'd2', payload: { to: 'a' } },
  ]);
  await eventually(async () => {
    const texts = await Promise.all(['c1', 'c2', 'd1', 'd2'].map((id) => muster.client.explain(id)));
    const held = texts.filter(({ text }) =>
      /limit "key", which handler "\w+" shares \(rate 1 call per 60 min, set by /.test(text),
    );
    return held.length >= 2;
  });
  expect(await muster.client.status('quick')).toMatchObject([{ counts: { created: expect.any(Number) } }]);
  await muster.client.sharedLimits.remove('key');
  await muster.client.waitFor(['c1', 'c2', 'd1', 'd2'], { timeoutMs: 20_000 }); // of an hour
});

test('a weight in flight that is set keeps further batches from being sent, until it is removed', async () => {
  const { client } = muster;
  await client.submit('heavy', { id: 'h0', payload: { to: 'h' } }); // so that the target is known
  await eventually(() => held.length === 1);
  await client.limits.set('heavy', { maxWeightInFlight: { perTarget: 7 } }, { target: 'h' });
  await client.submit(
    'heavy',
    ['h1', 'h2', 'h3'].map((id) => ({ id, payload: { to: 'h' } })),
  );
  // Two of weight 3 are below 7, a third is not.
  await eventually(async () => /has 6 of 7 weight in flight/.test((await client.explain('h3')).text));
  await eventually(() => held.length >= 2); // a batch counts from its dispatch, its call begins after
  expect(held.length).toBe(2);
  await client.limits.remove('heavy', { target: 'h' });
  await eventually(() => held.length === 4);
  for (const { go } of held) go();
  await client.waitFor(['h0', 'h1', 'h2', 'h3']);
});

test('no invariant is violated', () => expectWhole(muster.client));
