import type { Carried } from '../../../activities/calls/carried';
import { Schedule } from '../../../activities/calls/schedule';
import type { CarriedBatch } from '../../../postgres/calls/batch';

/** The bookkeeping of one dispatch: what is taken out of it is gone, and its room is free again. */

const batchOf = (id: number, targetId: number, perTarget = 2): CarriedBatch =>
  ({ id, targetId, perTarget }) as CarriedBatch;
const carriedOf = (batch: CarriedBatch): Carried => ({ batch, members: [], attempt: 1, markedAtMs: 0, fence: null });
const idsOf = (all: readonly (CarriedBatch | Carried)[]): number[] =>
  all.map((one) => ('batch' in one ? one.batch.id : one.id));

/** A schedule with these batches, all prepared. */
const prepared = (slots: number, ...batches: readonly CarriedBatch[]): Schedule => {
  const schedule = new Schedule(slots);
  for (const batch of batches) schedule.add(batch, 0);
  const group = schedule.takeForPreparation(0);
  expect(idsOf(group)).toEqual(idsOf(batches));
  schedule.prepared(group, group.map(carriedOf));
  return schedule;
};

test('no more of a target is prepared than it may have at once, nor more than two rounds of the slots', () => {
  const schedule = new Schedule(2);
  for (let id = 1; id <= 3; id++) schedule.add(batchOf(id, 1), 0);
  for (let id = 4; id <= 7; id++) schedule.add(batchOf(id, id), 0);
  expect(idsOf(schedule.takeForPreparation(0))).toEqual([1, 2, 4, 5]);
  expect(schedule.takeForPreparation(0)).toEqual([]); // one group at a time
});

test('prepared calls that are taken out are gone, and can be prepared again', () => {
  const batches = [batchOf(1, 1), batchOf(2, 1)];
  const schedule = prepared(2, ...batches);
  expect(schedule.isEmpty()).toBe(false);
  expect(idsOf(schedule.takeReady())).toEqual([1, 2]);
  expect(schedule.takeReady()).toEqual([]);
  expect([schedule.isEmpty(), schedule.slotsNeeded(), schedule.targets().size]).toEqual([true, 0, 0]);
  expect(schedule.takeForCall(0)).toBeNull();
  for (const batch of batches) schedule.add(batch, 0);
  expect(idsOf(schedule.takeForPreparation(0))).toEqual([1, 2]);
});

test('what was not prepared yet is taken out once', () => {
  const schedule = new Schedule(2);
  for (const batch of [batchOf(1, 1), batchOf(2, 2)]) schedule.add(batch, 100);
  expect(schedule.takeForPreparation(99)).toEqual([]);
  expect(idsOf(schedule.takeUnstarted())).toEqual([1, 2]);
  expect(schedule.takeUnstarted()).toEqual([]);
  expect(schedule.isEmpty()).toBe(true);
});

test('prepared calls beyond a limit that has fallen are taken back, the others still go', () => {
  const schedule = prepared(2, batchOf(1, 1), batchOf(2, 1));
  schedule.setLimit(1, 1);
  expect(idsOf(schedule.takeBack(0))).toEqual([2]);
  expect(schedule.takeBack(0)).toEqual([]);
  expect(schedule.takeForCall(0)?.batch.id).toBe(1);
  expect(schedule.isEmpty()).toBe(false);
  schedule.callEnded(1);
  expect(schedule.isEmpty()).toBe(true);
});

test('of a target that is held for long everything that waits is taken out, and nothing of another one', () => {
  const schedule = new Schedule(2);
  for (const batch of [batchOf(1, 1), batchOf(2, 2), batchOf(3, 1)]) schedule.add(batch, 0);
  schedule.holdTarget(1, 100);
  expect(schedule.takeHeld(100)).toEqual([]);
  expect(idsOf(schedule.takeHeld(99))).toEqual([1, 3]);
  expect(schedule.takeHeld(99)).toEqual([]);
  expect(idsOf(schedule.takeForPreparation(0))).toEqual([2]);
});
