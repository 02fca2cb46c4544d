import type { Explanation } from '../../../workflows/planning/explain/facts';
import type { ServedFacts } from '../../../workflows/planning/explain/served';
import { servedBy, withServedBy } from '../../../workflows/planning/explain/served';

/** Which node serves a task of a handler with affinity, in words (B5, G13). */
const HELD: ServedFacts = {
  handler: 'orders',
  partition: 'orders/3',
  holder: 'a-1',
  holderName: null,
  epoch: 7,
  heldMs: 12_000.4,
  leftMs: 2_000,
  revokedMs: null,
  wantedBy: null,
  wantedByName: null,
  keptFor: null,
  keptLeftMs: null,
  pinnedTo: null,
  needs: {},
  able: 2,
};

test.each([
  [
    'held',
    {},
    { node: 'a-1', epoch: 7, sinceMs: 12_000, why: null },
    /^Node a-1 serves it: it has held partition orders\/3 under epoch 7 for 12 s\.$/,
  ],
  ['held by a named one', { holderName: 'red' }, { name: 'red' }, /^Node a-1 \("red"\) serves it/],
  [
    'asked back',
    { revokedMs: 1_500, wantedBy: 'b-2', wantedByName: 'blue' },
    { node: null, why: 'revoked' },
    /moves: node a-1, which holds it under epoch 7, was asked to give it up 1\.5 s ago, for node b-2 \("blue"\)\.$/,
  ],
  ['asked back for nobody', { revokedMs: 1_500 }, { why: 'revoked' }, /1\.5 s ago\.$/],
  [
    'kept for a restart',
    { holder: null, keptFor: 'red', keptLeftMs: 20_000 },
    { why: 'kept' },
    /reserved for the restart of "red" for another 20 s/,
  ],
  [
    'kept for too long',
    { holder: null, keptFor: 'red', keptLeftMs: -1 },
    { why: 'free' },
    /^No node holds partition orders\/3: the balancer gives it to one of 2 live nodes/,
  ],
  ['passed', { leftMs: -300 }, { node: null, sinceMs: null, why: 'free' }, /\(the lease of a-1 expired 300 ms ago\)/],
  ['kept up to now', { holder: null, keptFor: 'red', keptLeftMs: 0 }, { why: 'free' }, /: the balancer gives it/],
  ['kept for 1 ms', { holder: null, keptFor: 'red', keptLeftMs: 1 }, { why: 'kept' }, /for another 1 ms/],
  ['kept without a time', { holder: null, keptFor: 'red' }, { why: 'free' }, /: the balancer gives it/],
  ['kept for none', { holder: null, keptLeftMs: 20_000 }, { why: 'free' }, /: the balancer gives it/],
  [
    'kept, but of a lease that has passed',
    { leftMs: -300, keptFor: 'red', keptLeftMs: 20_000 },
    { why: 'free' },
    /\(the lease of a-1 expired 300 ms ago\)/,
  ],
  ['in the last millisecond of its lease', { leftMs: 1 }, { node: 'a-1' }, /serves it/],
  ['at the end of its lease', { leftMs: 0 }, { node: null, why: 'free' }, /expired 0 ms ago/],
  ['asked back, 1 ms left', { leftMs: 1, revokedMs: 1_500 }, { why: 'revoked' }, /moves/],
  ['asked back, at the end', { leftMs: 0, revokedMs: 1_500 }, { why: 'free' }, /expired 0 ms ago/],
  [
    'none has the handler',
    { holder: null, able: 0 },
    { why: 'no node is able' },
    /no live node has handler "orders", or every such node is drained\.$/,
  ],
  [
    'none has its attribute',
    { holder: null, able: 0, needs: { zone: 'eu' } },
    { why: 'no node is able' },
    /and the attributes zone=eu, or every/,
  ],
  [
    'nobody is able',
    { holder: null, able: 0, needs: { zone: 'eu', disk: 'ssd' } },
    { why: 'no node is able' },
    /no live node has handler "orders" and the attributes zone=eu, disk=ssd, or every such node is drained/,
  ],
] as const)('%s', (_, given, fields, words) => {
  const served = servedBy({ ...HELD, ...given });
  expect(served).toMatchObject({ partition: 'orders/3', epoch: 7, ...fields });
  expect(served.text).toMatch(words);
});

const explained = (waitsFor: Explanation['waitsFor']): Explanation => ({
  id: 't',
  state: 'created',
  text: 'It waits.',
  waitsFor,
  nextStepInMs: 0,
  facts: {} as Explanation['facts'],
});

test.each([
  ['leader', 'partition'],
  ['slot', 'partition'],
  ['lane', 'partition'],
  ['linger', 'linger'],
  ['pause', 'pause'],
] as const)('what waits for %s while nobody holds its partition waits for %s', (before, after) => {
  const free = servedBy({ ...HELD, holder: null });
  const now = withServedBy(explained(before), free);
  expect(now).toMatchObject({ waitsFor: after, servedBy: free, text: `It waits. ${free.text}` });
  expect(withServedBy(explained(before), servedBy(HELD)).waitsFor).toBe(before);
});

test('what is over is served by nobody', () => {
  expect(withServedBy(explained(null), servedBy(HELD))).toEqual(explained(null));
});
