import { randomUUID } from 'node:crypto';
import { closeChunk, giveBackItems, openChunks } from '../../postgres/executions/chunk';
import type { CloseReason, OpenChunk } from '../../postgres/executions/chunk';
import { withRetries } from '../../postgres/errors';
import * as turns from '../../postgres/executions/turn';
import type { ExecutionFacts } from '../../postgres/executions/turn';
import { answerRollCall, countRollCall } from '../../postgres/nodes/rollCall';
import { inTransaction } from '../../postgres/pool';
import type { Queryable } from '../../postgres/pool';
import type { RollCall, RollCallResponse } from '../../workflows/messages';
import { CHUNK, isOver } from '../../workflows/planning/executions/states';
import { planTurn } from '../../workflows/planning/executions/turn';
import type { TurnPlan } from '../../workflows/planning/executions/turn';
import { whyUnanswered } from '../../workflows/planning/executions/rollCall';
import type { RollCallNeeds } from '../../workflows/planning/executions/rollCall';
import type { ActivityDeps } from '../deps';
import { isUuid } from '../../workflows/planning/uuid';

/** Parts (of 10,000 items) handed out in one turn: keeps its transaction within seconds. */
const PARTS_PER_TURN = 5;
/**
 * A workflow with running work looks at least this often; past its own time plus the slack the
 * sweeper wakes it.
 */
const RUNNING_MS = 600_000;
/**
 * The same where no node has taken a chunk yet: with the run its start may be lost, and nothing
 * tells.
 */
const UNTAKEN_MS = 30_000;
const SLACK_MS = 30_000;

/**
 * Takes one turn of an execution: closes chunks that are lost and gives their items back; then, in
 * one transaction guarded by (run, turn), decides what comes next and plans the next round. A
 * repeated turn writes nothing. Ready chunks that the workflow does not name are returned each
 * time: that is how a repeat gets the first one's answer, and how a later run adopts what an
 * earlier one left.
 */
export const rollCall = async (deps: ActivityDeps, input: RollCall): Promise<RollCallResponse> => {
  const { pool } = deps;
  if (!isUuid(input.executionId)) return answer(deps, input, NOTHING, { kind: 'over' }, []); // started by hand
  await giveBackLost(deps, input, false);
  const turn = await withRetries(() => inTransaction(pool, (db) => takeAndPlan(deps, db, input)));
  if (turn === null) return repeated(deps, input);
  const chunks = await openChunks(pool, input.executionId);
  const response = answer(deps, input, turn.facts, turn.plan, chunks, turn.why);
  await turns.publishExecution(pool, input.executionId, {
    wantsNodes: ['no-nodes', 'roll-call'].includes(response.next),
    note: response.note,
    resumeInMs: waitMs(deps, response, chunks) + SLACK_MS,
  });
  return response;
};

interface Taken {
  facts: ExecutionFacts;
  plan: TurnPlan;
  /** Why no node answered; null: one did, or none was asked. */
  why: string | null;
}

const takeAndPlan = async (deps: ActivityDeps, db: Queryable, input: RollCall): Promise<Taken | null> => {
  const { executionId } = input;
  const run = { id: input.runId, startedAtMs: input.runStartedAtMs, turn: input.turn };
  const facts = await turns.takeTurn(db, executionId, run, deps.executions.maxAttempts);
  if (facts === null) return null;
  const open = await openChunks(db, executionId);
  const candidates = await askNodes(db, facts, open);
  const plan = planTurn({
    ...facts,
    numberOfNodes: facts.config['numberOfNodes'] as number | undefined,
    candidates,
    rollCallOver: input.rollCallOver,
    mayPlan: input.mayPlan,
    filling: open.some(({ state }) => state === CHUNK.filling),
  });
  if (plan.kind === 'plan') {
    const chunks = plan.nodes.map((node) => ({ id: randomUUID(), node }));
    await turns.insertChunks(db, executionId, facts.round + 1, facts.epoch, chunks);
    return { facts, plan: await fill(db, executionId, facts.round + 1, plan), why: null };
  }
  if (plan.kind === 'fill') return { facts, plan: await fill(db, executionId, facts.round, plan), why: null };
  const needs = needsOf(facts);
  const why = plan.kind === 'no-nodes' ? whyUnanswered(await countRollCall(db, needs), needs) : null;
  return { facts, plan, why };
};

/** Hands out items; returns `fill` while there are more. */
const fill = async (db: Queryable, executionId: string, round: number, plan: TurnPlan): Promise<TurnPlan> => {
  let after = -1;
  for (let part = 0; part < PARTS_PER_TURN; part++) {
    const { n, last } = await turns.fillChunks(db, executionId, round, after);
    if (n < 10_000) {
      await turns.readyChunks(db, executionId, round);
      return plan.kind === 'fill' ? { kind: 'wait' } : plan;
    }
    after = last!;
  }
  return { kind: 'fill' };
};

const needsOf = ({ functionId, topic, config }: ExecutionFacts): RollCallNeeds => ({
  functionId,
  topic,
  attributes: (config['attributes'] as RollCallNeeds['attributes'] | undefined) ?? {},
});

const askNodes = async (db: Queryable, facts: ExecutionFacts, open: readonly OpenChunk[]) => {
  const answered = await answerRollCall(db, needsOf(facts));
  return answered.map((node) => ({ ...node, holds: open.filter((chunk) => chunk.node === node.id).length }));
};

/**
 * Gives back the items of chunks that no node runs any more; of a cancelled execution, all. A crash
 * on the way leaves a closed chunk with items: the next turn goes on.
 */
const giveBackLost = async (
  { pool: db, meters, executions: { maxLosses } }: ActivityDeps,
  input: RollCall,
  cancelled: boolean,
): Promise<void> => {
  const close = async (id: string, reason: CloseReason): Promise<void> => {
    if (await closeChunk(db, id, reason)) meters.gaveBack(reason);
  };
  for (const chunk of await openChunks(db, input.executionId)) {
    const running = input.running.includes(chunk.id);
    if (cancelled) await close(chunk.id, 'cancelled');
    else if (chunk.state === CHUNK.ready && input.undelivered.includes(chunk.id)) await close(chunk.id, 'undelivered');
    else if (chunk.state === CHUNK.taken && chunk.expired && !running) await close(chunk.id, 'expired');
    else if (chunk.state !== CHUNK.closed) continue;
    for (let left = 1; left > 0;) {
      const given = await withRetries(() => giveBackItems(db, chunk.id, maxLosses));
      meters.recorded({ done: 0, ...given });
      ({ left } = given);
    }
  }
};

/**
 * Handles a turn whose guard did not match: the execution has ended, another run leads it, or this
 * very turn was taken before.
 */
const repeated = async (deps: ActivityDeps, input: RollCall): Promise<RollCallResponse> => {
  const facts = await turns.readTurn(deps.pool, input.executionId);
  if (facts === null) return answer(deps, input, NOTHING, { kind: 'over' }, []);
  if (isOver(facts.state)) {
    await giveBackLost(deps, input, true);
    return answer(deps, input, facts, { kind: 'over' }, []);
  }
  const chunks = await openChunks(deps.pool, input.executionId);
  if (facts.run !== input.runId) return { ...answer(deps, input, facts, { kind: 'over' }, []), next: 'deposed' };
  return { ...answer(deps, input, facts, { kind: 'fill' }, chunks), planned: chunks.length > 0 };
};

const NOTHING: ExecutionFacts = {
  state: 100,
  functionId: '',
  topic: null,
  config: {},
  counts: { created: 0, inProgress: 0, done: 0, failed: 0, permanentlyFailed: 0 },
  items: 0,
  round: 0,
  epoch: 0,
};

const answer = (
  { executions }: ActivityDeps,
  input: RollCall,
  facts: ExecutionFacts,
  plan: TurnPlan,
  chunks: readonly OpenChunk[],
  why: string | null = null,
): RollCallResponse => {
  const unnamed = chunks.filter(({ id }) => !input.running.includes(id));
  const leases = unnamed
    .filter(({ state }) => state === CHUNK.taken)
    .map(({ expiresInMs }) => Math.max(0, expiresInMs!));
  const { rollCallMs, requeueMs, retryBaseMs, leaseMs } = executions;
  return {
    next: plan.kind === 'fill' ? 'again' : plan.kind === 'plan' ? 'wait' : plan.kind,
    chunks: unnamed.filter(({ state }) => state === CHUNK.ready).map(({ id, node, n }) => ({ id, node, items: n })),
    planned: plan.kind === 'plan',
    counts: facts.counts,
    round: facts.round + (plan.kind === 'plan' ? 1 : 0),
    note: noteOf(plan, input, why),
    dueInMs: leases.length === 0 ? null : Math.min(...leases),
    settings: { rollCallMs, requeueMs, retryBaseMs, leaseMs },
  };
};

const noteOf = (plan: TurnPlan, { rollCallOver }: RollCall, why: string | null): string | null => {
  if (plan.kind === 'no-nodes')
    return `no node answered the roll call (${plan.wanted} wanted): ${why === null ? '' : `${why}; `}the execution continues when a node answers`;
  if (plan.kind === 'roll-call' && !rollCallOver)
    return `roll call: ${plan.answered} of ${plan.wanted} nodes have answered`;
  return null;
};

const waitMs = (
  { executions }: ActivityDeps,
  { next, chunks: given }: RollCallResponse,
  open: readonly OpenChunk[],
): number => {
  if (next === 'no-nodes') return executions.requeueMs;
  if (next === 'roll-call') return executions.rollCallMs;
  return given.length > 0 || open.some(({ state }) => state === CHUNK.ready) ? UNTAKEN_MS : RUNNING_MS;
};
