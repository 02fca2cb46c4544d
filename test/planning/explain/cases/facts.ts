import type { BatchPart, ExplainFacts, QueuedPart } from '../../../../workflows/planning/explain/facts';

export type Parts = {
  [K in keyof ExplainFacts]?: ExplainFacts[K] extends object | null
    ? Partial<NonNullable<ExplainFacts[K]>> | null
    : ExplainFacts[K];
};

const QUEUED: QueuedPart = {
  ahead: 0,
  waiting: 2,
  oldestMs: 100,
  newestMs: 40,
  full: false,
  flushed: false,
  key: null,
  keyHolder: null,
};
const BATCH: BatchPart = {
  id: 7,
  n: 3,
  attempt: 0,
  dispatched: true,
  attemptBy: null,
  nodeSeenMs: null,
  attemptEndsInMs: null,
  retryInMs: null,
  reference: null,
  pollInMs: null,
  pollEndsInMs: null,
  refused: false,
  refusals: 0,
  error: null,
  stack: null,
  cancellation: null,
};

/**
 * A served handler with linger 250 ms, its leader waiting for the linger; a part that is given
 * replaces its fields.
 */
export const facts = (parts: Parts): ExplainFacts => ({
  id: 't1',
  state: parts.state ?? (parts.batch === undefined || parts.batch === null ? 'created' : 'batched'),
  attempts: parts.attempts ?? 0,
  error: parts.error ?? null,
  ...(parts.expiresAt === undefined ? {} : { expiresAt: parts.expiresAt }),
  ...(parts.timersLateMs === undefined ? {} : { timersLateMs: parts.timersLateMs }),
  handler: {
    name: 'orders',
    paused: false,
    pauseReason: null,
    holdInMs: null,
    perTarget: 1,
    perHandler: 8,
    slotsTaken: 0,
    weightPerTarget: null,
    served: true,
    ...parts.handler,
  },
  target: {
    key: 'se',
    paused: false,
    pauseReason: null,
    busy: false,
    holdInMs: null,
    dueInMs: 150,
    inFlight: 0,
    weight: 0,
    maxItems: 50,
    minItems: 1,
    lingerMs: 250,
    quietMs: null,
    ...parts.target,
  },
  leader: {
    name: '0',
    state: 'waiting',
    wakeInMs: 150,
    expiresInMs: 15_150,
    id: 1,
    blocked: false,
    heldBy: null,
    unansweredMs: null,
    runId: null,
    ...parts.leader,
  },
  queued: parts.queued === null || parts.queued === undefined ? null : { ...QUEUED, ...parts.queued },
  held: parts.held == null ? null : { dependencies: 3, open: 2, ids: ['a', 'b'], ...parts.held },
  delayedInMs: parts.delayedInMs ?? null,
  batch: parts.batch === null || parts.batch === undefined ? null : { ...BATCH, ...parts.batch },
});

/** What holds a task back: the facts, and what is said of them. */
export type Case = [what: string, parts: Parts, waitsFor: string | null, nextStepInMs: number | null, text: RegExp];
