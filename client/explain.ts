import type { CancellationRow } from '../postgres/cancellation';
import { readExplainFacts } from '../postgres/explain';
import { findQueuedInLane } from '../postgres/laneQueue';
import { findSubmissionOf } from '../postgres/laneView';
import { readServedOf } from '../postgres/partitionView';
import type { BatchPart } from '../workflows/planning/explainFacts';
import type { ExplainFacts, Explanation } from '../workflows/planning/explain';
import { explain as explainFacts, explainTrouble } from '../workflows/planning/explain';
import { stopped } from '../workflows/planning/explainWords';
import { servedBy, withServedBy } from '../workflows/planning/explainServed';
import { leaderStateName, taskStateName } from '../workflows/planning/states';
import { checkName } from './arguments';
import { cancellationCauseName, cancellationStateName } from './cancellation';
import type { ClientContext } from './context';
import { NODE_LIVE_MS } from './context';
import { NotFoundError } from './errors';
import { batchStatus } from './lanes';

/** Where a task is, what it waits for and when something happens next at the earliest (G13), from Postgres alone. */
export const explain = async (client: ClientContext, id: string): Promise<Explanation> => {
  checkName('id', id);
  await client.ready();
  const explained = await explainWaiting(client, id);
  const row = explained.waitsFor === null ? null : await readServedOf(client.pool, id, NODE_LIVE_MS);
  if (row === null) return explained;
  return withServedBy(explained, servedBy({ ...row, partition: `${row.handler}/${row.no}` }));
};

const explainWaiting = async (client: ClientContext, id: string): Promise<Explanation> => {
  const row = await readExplainFacts(client.pool, id, NODE_LIVE_MS);
  if (row === null)
    throw new NotFoundError('task', id, 'It was never accepted, or it ended and its retention is over.');
  const facts = {
    ...row,
    batch: withCancellation(row.batch),
    state: taskStateName(row.state),
    leader: { ...row.leader, state: leaderStateName(row.leader.state) },
  };
  const explained = explainFacts(facts as unknown as ExplainFacts);
  const queued = facts.state === 'created' ? await findQueuedInLane(client.pool, id) : null;
  if (queued !== null) {
    const { service, ahead, batches } = queued;
    return { ...explained, waitsFor: 'lane', text: `In the queue of lane ${service}, in no batch yet: ${ahead} tasks and ${batches} batches go before it.` }; // prettier-ignore
  }
  const batchId = await findSubmissionOf(client.pool, id);
  const inLane = batchId === null || explained.waitsFor === null ? null : await batchStatus(client.pool, batchId);
  // In a lane its batch waits, and for other things than a target's.
  return inLane === null ? explained : { ...explained, text: `Batch ${inLane.batch}, ${inLane.explanation}${pauseOf(facts as unknown as ExplainFacts)}${explainTrouble(facts as unknown as ExplainFacts)}`, waitsFor: 'lane' }; // prettier-ignore
};

/** What the lane itself does not say: its target or handler is paused. */
const pauseOf = (facts: ExplainFacts): string => {
  const reason = stopped(facts);
  return reason?.waitsFor === 'pause' ? ` ${reason.text}` : '';
};

/** The numbers of the store as names. */
const withCancellation = (batch: Record<string, unknown> | null): BatchPart | null => {
  if (batch === null) return null;
  const row = batch['cancellation'] as CancellationRow | null;
  if (row === null) return batch as unknown as BatchPart;
  const { tries, error, nextInMs } = row;
  const names = { state: cancellationStateName(row.state), cause: cancellationCauseName(row.cause) };
  return { ...(batch as unknown as BatchPart), cancellation: { ...names, tries, error, nextInMs } };
};
