import { formatDuration } from '../duration';

/** What `explain` knows of a task in the queue of a lane, which is in no batch yet. */
export interface QueuedFacts {
  service: string;
  /** Tasks and open batches of the lane that go before it. */
  ahead: number;
  batches: number;
  /** Why all lanes, or this one, are paused; null: they are not. */
  queuerPaused: { reason: string | null } | null;
  lanePaused: { reason: string | null } | null;
  halted: { batch: number; reason: string | null } | null;
  /** Milliseconds for which the downstream asked to wait; null: it did not. */
  holdInMs: number | null;
}

/** Explains where a task stands in the queue of its lane, and what stops the lane. Pure. */
export const explainQueued = (facts: QueuedFacts): string => {
  const { service, ahead, batches } = facts;
  const many = (n: number, one: string, more: string): string => `${n} ${n === 1 ? one : more}`;
  const before =
    ahead + batches === 0
      ? 'it is the next'
      : `${many(ahead, 'task', 'tasks')} and ${many(batches, 'batch', 'batches')} are ahead of it`;
  return `In the queue of lane ${service}, not in a batch yet: ${before}${stop(facts)}.`;
};

const stop = ({ queuerPaused, lanePaused, halted, holdInMs }: QueuedFacts): string => {
  const because = (reason: string | null): string => (reason === null ? '' : `: ${reason}`);
  if (queuerPaused !== null) return `; all lanes are paused${because(queuerPaused.reason)}; resume them`;
  if (lanePaused !== null) return `; the lane is paused${because(lanePaused.reason)}; resume it`;
  if (halted !== null)
    return `; the lane is halted by batch ${halted.batch}${because(halted.reason)}; skip or fix that batch`;
  if (holdInMs !== null && holdInMs > 0)
    return `; the downstream asked this service to wait another ${formatDuration(holdInMs)}`;
  return '';
};
