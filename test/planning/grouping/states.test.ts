import { isTerminal } from '../../../workflows/planning/states';
import type { BatchState, TaskState } from '../../../workflows/planning/states';
import { BATCH_AFTER, TASK_AFTER } from '../../helpers/transitions/permitted';

const namesOf = <N extends string>(table: Readonly<Record<N | 'new', unknown>>): N[] =>
  (Object.keys(table) as (N | 'new')[]).filter((name): name is N => name !== 'new');

const reached = <N extends string>(table: Readonly<Record<N | 'new', readonly N[]>>): Set<N> => {
  const found = new Set<N>(table.new);
  for (const state of found) for (const next of table[state]) found.add(next);
  return found;
};

test('a task that has ended is only ever created again', () => {
  for (const state of namesOf<TaskState>(TASK_AFTER).filter(isTerminal))
    expect([[], ['created']]).toContainEqual(TASK_AFTER[state]);
});

test('each state of a task can be reached, and each of a batch but dead', () => {
  expect(reached<TaskState>(TASK_AFTER)).toEqual(new Set(namesOf<TaskState>(TASK_AFTER)));
  expect(reached<BatchState>(BATCH_AFTER)).toEqual(
    new Set(namesOf<BatchState>(BATCH_AFTER).filter((state) => state !== 'dead')),
  );
});
