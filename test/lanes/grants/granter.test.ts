import { split } from '../../../activities/lanes/granter';

test('a waiting slot is given up or waits on, whenever its time comes: it is never lost in between', () => {
  let nowMs = 0;
  // Time goes on with each look at the clock: the third one is over between two looks.
  const isOver = (untilMs: number): boolean => untilMs < ++nowMs;
  expect(split([9, 0, 4, 9], isOver)).toEqual([[0], [9, 4, 9]]);
  nowMs = 0;
  const [over, waiting] = split([2, 3, 4], isOver);
  expect([...over, ...waiting].sort()).toEqual([2, 3, 4]);
});
