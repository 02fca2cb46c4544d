import type { EndedByHand } from '../../../../activities/callbacks/notificationsOfEnds';
import { notificationsOfEnds } from '../../../../activities/callbacks/notificationsOfEnds';

/** Who is told of ends that no call made, and of which of them. */

const ended = (id: string, recipientId: number | null, more: Partial<EndedByHand> = {}): EndedByHand => ({
  ...{ id, handler: 'jobs', target: 'a', recipientId, batchId: null },
  ...more,
});
/** Of each message: its recipient, its batch, its target and its tasks. */
const told = (ends: readonly EndedByHand[]): unknown[] =>
  notificationsOfEnds(ends, { state: 'cancelled' }).map(({ recipient_id, batch_id, attempt, body }) => {
    const { target, batch, tasks } = body as { target: string; batch: number | null; tasks: { id: string }[] };
    expect([attempt, batch]).toEqual([null, batch_id]);
    return [recipient_id, batch_id, target, tasks.map(({ id }) => id)];
  });

test('each recipient gets one message with all of its tasks, and a task without a recipient is in none', () => {
  expect(told([ended('1', 7), ended('2', null), ended('3', 8), ended('4', 7)])).toEqual([
    [7, null, 'a', ['1', '4']],
    [8, null, 'a', ['3']],
  ]);
  expect(told([ended('1', null), ended('2', null)])).toEqual([]);
  expect(told([])).toEqual([]);
});

test('tasks of several batches, targets or handlers are in messages of their own', () => {
  const ends = [
    ended('1', 7, { batchId: 1 }),
    ended('2', 7, { batchId: 2 }),
    ended('3', 7, { batchId: 1 }),
    ended('4', 7, { target: 'b' }),
    ended('5', 7, { handler: 'others', target: 'b' }),
  ];
  expect(told(ends)).toEqual([
    [7, 1, 'a', ['1', '3']],
    [7, 2, 'a', ['2']],
    [7, null, 'b', ['4']],
    [7, null, 'b', ['5']],
  ]);
});

test('a task has the reason of all, or its own in place of that', () => {
  const ends = [ended('1', 7), ended('2', 7, { error: 'its own' })];
  const [message] = notificationsOfEnds(ends, { state: 'failed', error: 'of all' });
  expect(message!.body).toMatchObject({
    handler: 'jobs',
    tasks: [
      { id: '1', state: 'failed', error: 'of all' },
      { id: '2', state: 'failed', error: 'its own' },
    ],
  });
});
