import type { CancellationRow } from '../../postgres/accepted/cancellation';
import type { ExplainRow } from '../../postgres/operations/explain';
import { readExplainFacts } from '../../postgres/operations/explain';
import { findQueuedInLane } from '../../postgres/lanes/queuedTask';
import { findLaneBatchOf } from '../../postgres/lanes/view';
import { hasOverdueNotification } from '../../postgres/sweeper/overdueWork';
import { readServedOf } from '../../postgres/nodes/partitionView';
import { readUnanswered } from '../../postgres/sweeper/unanswered';
import { leaderWorkflowId } from '../../workflows/naming';
import type { ExplainFacts, Explanation } from '../../workflows/planning/explain';
import { explain as explainFacts, explainTrouble } from '../../workflows/planning/explain';
import type { BatchPart, LeaderPart } from '../../workflows/planning/explain/facts';
import { servedBy, withServedBy } from '../../workflows/planning/explain/served';
import { overdueText, remedyOf, isStalled, uncalledText } from '../../workflows/planning/explain/stalled';
import { formatDuration } from '../../workflows/planning/duration';
import { stopped } from '../../workflows/planning/explain/stopped';
import { explainQueued } from '../../workflows/planning/explain/queuedInLane';
import { STALLED_MS, UNANSWERED_MS } from '../../workflows/planning/liveness';
import { isTerminal, leaderStateName, taskStateName } from '../../workflows/planning/states';
import { checkName } from '../arguments';
import { cancellationCauseName, cancellationStateName } from './cancellation';
import type { ClientContext } from '../context';
import { NODE_LIVE_MS } from '../context';
import { describeRun } from './describeRun';
import { shownWithin } from './tenants/shownWithin';
import { NotFoundError } from '../errors';
import { batchStatus } from '../lanes/views';
import { readStalled, stalledOf } from './stalled';

export const explain = async (client: ClientContext, id: string, namesWithin = ''): Promise<Explanation> => {
  checkName('id', id);
  await client.ready();
  const explained = await explainWaiting(client, id, namesWithin);
  const row = explained.waitsFor === null ? null : await readServedOf(client.pool, id, NODE_LIVE_MS);
  const served = row === null ? null : servedBy({ ...row, partition: `${row.handler}/${row.no}` });
  const told = served === null ? explained : withServedBy(explained, served);
  return { ...told, text: `${told.text}${await stalledBeside(client, told)}` };
};

/**
 * Describes other stalled workflows on which the task's next step depends: the balancer for a
 * partition without a node, the monitor, the notifier for its callback, or a dispatch that does not
 * send the task's batch or a batch before it.
 */
const stalledBeside = async (client: ClientContext, told: Explanation): Promise<string> => {
  const { waitsFor, servedBy: served, facts } = told;
  const isOver = isTerminal(told.state);
  const pollInMs = facts.batch?.pollInMs ?? facts.batch?.cancellation?.nextInMs ?? 0;
  const kinds = [
    waitsFor !== null && ['free', 'revoked'].includes(served?.why ?? '') ? 'balancer' : null,
    !isOver && facts.batch?.reference != null && pollInMs < -STALLED_MS ? 'monitor' : null,
    isOver && (await hasOverdueNotification(client.pool, told.id)) ? 'notifier' : null,
    waitsFor === 'lane' || (facts.batch?.dispatched === true && facts.batch.attemptEndsInMs === null)
      ? 'dispatch'
      : null,
  ];
  if (kinds.every((kind) => kind === null)) return '';
  const { name } = facts.handler;
  const all = (await readStalled(client.pool, client.prefix)).of({ name, hasLanes: false });
  const texts = all
    .filter(({ kind }) => kinds.includes(kind))
    .map(async (one) => {
      const run = await describeRun(() => client.temporal(), one.workflowId);
      return one.kind === 'dispatch' ? uncalledText(one, run) : overdueText(one, run);
    });
  return (await Promise.all(texts)).join('');
};

const explainWaiting = async (client: ClientContext, id: string, namesWithin: string): Promise<Explanation> => {
  const found = await readExplainFacts(client.pool, id, NODE_LIVE_MS);
  if (found === null)
    throw new NotFoundError('task', id, 'It was never accepted, or it was deleted after its retention period.');
  const row = shownWithin(found, namesWithin);
  const facts = {
    ...row,
    batch: withCancellation(row.batch),
    expiresAt: row.expiresAt?.toISOString() ?? null,
    state: taskStateName(row.state),
    leader: { ...row.leader, state: leaderStateName(row.leader.state), ...(await runOf(client, row)) },
  };
  const explained = explainFacts(facts as unknown as ExplainFacts);
  const queued = facts.state === 'created' ? await findQueuedInLane(client.pool, id) : null;
  if (queued !== null) {
    const pause = pauseOf(facts as unknown as ExplainFacts);
    return { ...explained, waitsFor: 'lane', text: `${explainQueued(queued)}${pause}${await stalledQueuer(client)}` };
  }
  const batchId = await findLaneBatchOf(client.pool, id);
  const inLane = batchId === null || explained.waitsFor === null ? null : await batchStatus(client.pool, batchId);
  // A batch in a lane waits for other things than a batch of a target does.
  return inLane === null
    ? explained
    : {
        ...explained,
        text: `Batch ${inLane.batch}, ${inLane.explanation}${pauseOf(facts as unknown as ExplainFacts)}${explainTrouble(facts as unknown as ExplainFacts)}${await stalledQueuer(client)}`,
        waitsFor: 'lane',
      };
};

/**
 * Returns why the task's target or handler is paused, which the lane does not show. Empty: neither
 * is.
 */
const pauseOf = (facts: ExplainFacts): string => {
  const reason = stopped(facts);
  return reason?.waitsFor === 'pause' ? ` ${reason.text}` : '';
};

/** Replaces the store's numbers for state and cause by their names. */
const withCancellation = (batch: Record<string, unknown> | null): BatchPart | null => {
  if (batch === null) return null;
  const row = batch['cancellation'] as CancellationRow | null;
  if (row === null) return batch as unknown as BatchPart;
  const { tries, error, nextInMs } = row;
  const names = { state: cancellationStateName(row.state), cause: cancellationCauseName(row.cause) };
  return { ...(batch as unknown as BatchPart), cancellation: { ...names, tries, error, nextInMs } };
};

/** Describes the run of a leader, if the leader has stalled. */
const runOf = async (client: ClientContext, { handler, leader }: ExplainRow): Promise<Partial<LeaderPart>> => {
  if (!isStalled(leader)) return {};
  const workflowId = leaderWorkflowId(client.prefix, handler.name, leader.name, leader.id);
  return { workflowId, run: await describeRun(() => client.temporal(), workflowId) };
};

/** Explains a stalled queuer, without which no lane moves. Empty: no queuer has stalled. */
const stalledQueuer = async (client: ClientContext): Promise<string> => {
  const found = (await readUnanswered(client.pool, UNANSWERED_MS, 10)).find(({ kind }) => kind === 'queuer');
  if (found === undefined) return '';
  const { name, ms, workflowId, runId } = stalledOf(client.prefix, found);
  const run = await describeRun(() => client.temporal(), workflowId);
  const since = `it was woken ${formatDuration(ms)} ago and has taken no turn since`;
  return ` Queuer ${name} has stalled: ${since}. ${remedyOf(workflowId, runId, run)}`;
};
