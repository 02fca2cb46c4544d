import type { RollCallCounts } from '../../../workflows/planning/executions/rollCall';
import { answerOf, whyUnanswered } from '../../../workflows/planning/executions/rollCall';

/** What a request is told at once, by what the nodes say at that moment. */

const ALL: RollCallCounts = { able: 4, subscribed: 4, fitting: 4, answering: 4, serving: 4 };
const NEEDS = { functionId: 'resize', attributes: { zone: 'eu', disk: 'ssd' }, topic: 'mail' };
const told = (counts: Partial<RollCallCounts>, numberOfNodes?: number, items = 10) =>
  answerOf({ ...ALL, ...counts }, { ...NEEDS, numberOfNodes, items });

test.each([
  [undefined, 10, 'items: 10, nodes that can run them now: 4.'],
  [-1, 10, 'items: 10, nodes that can run them now: 4.'],
  [2, 10, 'items: 10, nodes that can run them now: 2.'],
  [9, 10, 'items: 10, nodes that can run them now: 4.'],
  [undefined, 3, 'items: 3, nodes that can run them now: 3.'],
])('of %s nodes for %i items, four of which answer', (numberOfNodes, items, text) => {
  expect(told({}, numberOfNodes, items)).toEqual({ code: '202', message: `Accepted: ${text}` });
});

test('one node that has the function is enough; none of those that answer: its items will fail', () => {
  expect(told({ serving: 1 })).toMatchObject({ code: '202', message: expect.stringContaining('now: 1.') });
  expect(told({ serving: 0 })).toMatchObject({
    code: '404',
    message: expect.stringMatching(/^Accepted, but no node that answers has function "resize": each that is given/),
  });
});

test.each<[Partial<RollCallCounts>, RegExp]>([
  [{ able: 0, subscribed: 0, fitting: 0 }, /^no live node runs functions\. Start a worker/],
  [{ subscribed: 0, fitting: 0 }, /^no live node subscribes to topic "mail"\. Add it to `executions\.topics`/],
  [{ fitting: 0 }, /^no such node has the attributes zone=eu, disk=ssd\. Add them/],
  [{ able: 1, subscribed: 1, fitting: 1 }, /^the main thread of the one such node gives no sign of life\. Wait/],
  [{ fitting: 2 }, /^the main thread of all 2 such nodes gives no sign of life\. Wait/],
])('where none answers it says why: %j', (counts, why) => {
  const none = { ...ALL, ...counts, answering: 0, serving: 0 };
  expect(whyUnanswered(none, NEEDS)).toMatch(why);
  expect(told({ ...counts, answering: 0, serving: 0 })).toMatchObject({
    code: '503',
    message: `Accepted, but no node can run it now: ${whyUnanswered(none, NEEDS)}. It starts when a node answers.`,
  });
});

test('of those that answer nothing is explained, though it be one', () => {
  expect(whyUnanswered({ ...ALL, answering: 1 }, NEEDS)).toBeNull();
});
