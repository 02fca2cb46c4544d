import type { Standing } from '../../../workflows/planning/bulk/waits';
import { waitsFor } from '../../../workflows/planning/bulk/waits';

const standing: Standing = {
  dueForSeconds: 11,
  handler: 'items',
  needsHandler: true,
  payloadVersion: null,
  isHidden: true,
  hasWorkers: true,
  isServed: true,
};

test.each<[Partial<Standing>, string | null]>([
  [{}, null],
  [{ dueForSeconds: null, hasWorkers: false }, null],
  [{ dueForSeconds: 9, hasWorkers: false, isServed: false }, null],
  [{ hasWorkers: false, isServed: false }, 'a worker: none runs'],
  [{ dueForSeconds: 10, hasWorkers: false }, 'a worker: none runs'],
  [{ isServed: false }, 'a worker that has handler "items"'],
  [{ isServed: false, payloadVersion: 3 }, 'a worker that has handler "items" in payloadVersion 3 or later'],
  [{ isServed: false, needsHandler: false }, null],
  [{ dueForSeconds: 59 }, null],
  [{ dueForSeconds: 60 }, 'its turn, or a worker of this version of Muster or later that has handler "items"'],
  [
    { dueForSeconds: 60, payloadVersion: 3 },
    'its turn, or a worker of this version of Muster or later that has handler "items" in payloadVersion 3 or later',
  ],
  [
    { dueForSeconds: 60, needsHandler: false, isServed: false },
    'its turn, or a worker of this version of Muster or later',
  ],
  [{ dueForSeconds: 600, needsHandler: false, isHidden: false, isServed: false }, null],
])('%j', (other, expected) => {
  expect(waitsFor({ ...standing, ...other })).toBe(expected);
});
