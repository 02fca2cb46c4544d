import type { Plant, Run } from './plant';
import { seqOf } from './plant';

/** Labels of a task, and the rows by which its tags find it: `delayed` has the tag `red`. */
export const labelPlants = (run: Run): Record<string, Plant[]> => ({
  'labels are of a task of their handler': [
    {
      plant: () => run(`delete from task where id = 'delayed'`),
      row: () => ({ id: null, handlerOfTask: null }),
    },
    {
      plant: () => run(`update task_label set handler_id = handler_id + 1`),
      row: () => ({ id: 'delayed' }),
    },
  ],
  'a task is found by each of its tags': [
    { plant: () => run('delete from task_tag'), row: () => ({ tag: 'red' }) },
    { plant: () => run(`update task_label set tags = array['red', 'blue']`), row: () => ({ tag: 'blue' }) },
  ],
  'a tag finds a task that has it': [
    { plant: () => run('delete from task_label'), row: () => ({ tag: 'red' }) },
    { plant: () => run(`update task_label set tags = '{}'`), row: () => ({ tag: 'red' }) },
    {
      plant: () => run(`insert into task_tag (tag, handler_id, seq) values ('lost', 1, ${seqOf('queued')})`),
      row: () => ({ tag: 'lost' }),
    },
  ],
});
