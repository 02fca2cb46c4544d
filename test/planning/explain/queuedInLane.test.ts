import type { QueuedFacts } from '../../../workflows/planning/explain/queuedInLane';
import { explainQueued } from '../../../workflows/planning/explain/queuedInLane';

/** What `explain` says of a task in the queue of a lane. */

const CALM: QueuedFacts = {
  service: 'po-17',
  ahead: 0,
  batches: 0,
  queuerPaused: null,
  lanePaused: null,
  halted: null,
  holdInMs: null,
};
const NEXT = 'In the queue of lane po-17, not in a batch yet: it is the next';

test.each<[string, Partial<QueuedFacts>, string]>([
  ['the next', {}, `${NEXT}.`],
  [
    'behind others',
    { ahead: 1, batches: 2 },
    'In the queue of lane po-17, not in a batch yet: 1 task and 2 batches are ahead of it.',
  ],
  [
    'behind one of each',
    { ahead: 1, batches: 1 },
    'In the queue of lane po-17, not in a batch yet: 1 task and 1 batch are ahead of it.',
  ],
  [
    'behind many tasks',
    { ahead: 2, batches: 0 },
    'In the queue of lane po-17, not in a batch yet: 2 tasks and 0 batches are ahead of it.',
  ],
  ['a paused lane', { lanePaused: { reason: 'moving' } }, `${NEXT}; the lane is paused: moving; resume it.`],
  ['a paused lane, no reason', { lanePaused: { reason: null } }, `${NEXT}; the lane is paused; resume it.`],
  [
    'all lanes paused, and this one',
    { queuerPaused: { reason: 'closing' }, lanePaused: { reason: 'moving' } },
    `${NEXT}; all lanes are paused: closing; resume them.`,
  ],
  [
    'a halted lane',
    { halted: { batch: 81, reason: 'lost' } },
    `${NEXT}; the lane is halted by batch 81: lost; skip or fix that batch.`,
  ],
  ['back pressure', { holdInMs: 3_000 }, `${NEXT}; the downstream asked this service to wait another 3 s.`],
  ['back pressure for 1 ms', { holdInMs: 1 }, `${NEXT}; the downstream asked this service to wait another 1 ms.`],
  ['back pressure that is past', { holdInMs: 0 }, `${NEXT}.`],
])('%s', (_name, facts, text) => {
  expect(explainQueued({ ...CALM, ...facts })).toBe(text);
});
