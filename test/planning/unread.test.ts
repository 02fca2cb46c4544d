import fc from 'fast-check';
import type { UnreadRun } from '../../workflows/planning/unread';
import { unreadOf } from '../../workflows/planning/unread';

/** What a monitor is given to read: from an input that anybody may have written. */

const run = (more: object = {}): object => ({ runId: 'r', taken: 0, ...more });
const place = { token: 't', after: 3 };

test.each<[string, unknown]>([
  ['a run', run()],
  ['some of it taken', run({ taken: 17 })],
  ['a place in it', run({ at: place })],
  ['the first place', run({ at: { token: '', after: 0 } })],
])('is read: %s', (_, one) => expect(unreadOf({ unread: [one] })).toEqual([one]));

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'r'],
  ['a run without id', { taken: 0 }],
  ['an id that is no text', run({ runId: 1 })],
  ['no count', { runId: 'r' }],
  ['a count that is a text', run({ taken: '1' })],
  ['a count below 0', run({ taken: -1 })],
  ['half a count', run({ taken: 0.5 })],
  ['a count that no number holds exactly', run({ taken: 2 ** 53 })],
  ['no number', run({ taken: NaN })],
  ['a place without token', run({ at: { after: 1 } })],
  ['a token that is no text', run({ at: { token: 1, after: 1 } })],
  ['a place without count', run({ at: { token: 't' } })],
  ['a place below 0', run({ at: { token: 't', after: -1 } })],
  ['a place that is a text', run({ at: 'there' })],
])('is left out: %s', (_, one) =>
  expect(unreadOf({ unread: [run({ runId: 'before' }), one, run({ runId: 'after' })] })).toEqual([
    { runId: 'before', taken: 0 },
    { runId: 'after', taken: 0 },
  ]),
);

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'unread'],
  ['no list', {}],
  ['a list that is a text', { unread: 'r' }],
  ['a run in place of the list', { unread: run() }],
])('no list: %s', (_, carrier) => expect(unreadOf(carrier)).toEqual([]));

test('whatever comes, only runs come out, in their order, and are read again as they are', () => {
  const some = fc.record({
    runId: fc.string(),
    taken: fc.nat(),
    at: fc.option(fc.constant(place), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(fc.oneof(some, fc.anything())), (unread) => {
      const read = unreadOf({ unread });
      expect(unread.filter((one) => read.includes(one as UnreadRun))).toEqual(read);
      expect(unreadOf({ unread: read })).toEqual(read);
      for (const { runId, taken } of read) expect([typeof runId, taken >= 0]).toEqual(['string', true]);
    }),
  );
});
