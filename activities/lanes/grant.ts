import type { Logger } from 'pino';
import { withRetries } from '../../postgres/errors';
import * as store from '../../postgres/lanes/grant';
import type { LockedQueuer } from '../../postgres/lanes/grant';
import { hasUnseenWork, publishGrantTurn } from '../../postgres/lanes/queuer';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { failDependents } from '../../postgres/lanes/settle';
import type { Client, Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { writePaces } from '../../postgres/lanes/tokens';
import { insertSubmitter, keepSubmitters, readCarried } from '../../postgres/lanes/submitter';
import type { GrantAnswer, GrantInput } from '../../workflows/messages';
import { decideNextGrant } from '../../workflows/planning/lanes/nextGrant';
import type { DependencyFailure, Grant } from '../../workflows/planning/lanes/types';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { LEADER_STATES } from '../../workflows/planning/states';
import type { Look } from './look';
import type { NodeSettings } from '../nodes/settings';
import { BEGIN_SHORT } from '../../postgres/shortTransaction';
import { lookAtLanes } from './look';
import { standingOf } from '../grouping/reserve';

/**
 * A submitter that gives no sign of life for this long is dead: a few ticks of a busy process.
 * Sooner than its heartbeat ends: signs of life in the store cost no action. One that only was slow
 * loses nothing but its claim: what it had marked waits for its true answer.
 */
export const SUBMITTER_LEASE_MS = 4_000;

/**
 * One turn of a queuer: takes back what dead submitters held, grants free slots, publishes what it
 * waits for; one transaction guarded by `(run, epoch, turn)` as a leader's. Then, in a new
 * snapshot, the ring's half of the handshake: is there something that it did not see?
 */
export const grantLanes = async (
  deps: { pool: Pool; leaseMs: number; nodes: Pick<NodeSettings, 'leaseMs'>; log: Pick<Logger, 'error'> },
  input: GrantInput,
): Promise<GrantAnswer> => {
  if (!Number.isInteger(input.queuerId)) return { ...NOTHING, foreign: true, epoch: 0, next: 'idle' }; // started by hand
  const turn = (): Promise<GrantAnswer> =>
    inTransaction(deps.pool, (client) => takeTurn(client, deps, input), BEGIN_SHORT);
  const answer = await withRetries(turn).catch((error: unknown) => {
    // The workflow tries again without end: nobody else would say so.
    deps.log.error({ err: error, queuer: input.queuerId, turn: input.turn }, 'a turn of the queuer failed');
    throw error;
  });
  if (
    !answer.deposed &&
    answer.foreign !== true &&
    answer.next !== 'working' &&
    (await hasUnseenWork(deps.pool, input.queuerId))
  )
    answer.again = true;
  return answer;
};

const takeTurn = async (
  client: Client,
  { leaseMs, nodes }: { leaseMs: number; nodes: Pick<NodeSettings, 'leaseMs'> },
  input: GrantInput,
): Promise<GrantAnswer> => {
  const queuer = await store.lockQueuer(client, input.queuerId);
  if (queuer === null) return { ...NOTHING, foreign: true, epoch: 0, next: 'idle' };
  const standing = standingOf(queuer, input);
  if (standing.kind === 'deposed') return { ...NOTHING, deposed: true, epoch: queuer.epoch, next: 'idle' };
  if (standing.kind === 'repeated') return repeated(queuer, input);
  const { epoch, live } = standing;

  const taken = await store.recoverSubmitters(client, input.queuerId, live);
  const free = input.mayClaim && !queuer.paused ? Math.max(0, queuer.slots - taken) : 0;
  const look = await lookAtLanes(client, input.queuerId, queuer, free);
  const submitters = await startSubmitters(client, input.queuerId, epoch, queuer.slots, look, nodes.leaseMs);
  await writePlan(client, input.queuerId, look, look.plan.grants);
  const due = await store.nextLaneDue(client, input.queuerId);
  const next = decideNextGrant({
    paused: queuer.paused,
    mayClaim: input.mayClaim,
    free: free - look.plan.grants.length,
    again: look.plan.again,
    dueInMs: due.dueInMs,
    live: live.length + submitters.length,
  });
  const { again, heldBy } = next;
  const dueInMs = next.timer ? Math.max(1, Math.ceil(next.inMs)) : null;
  const answer: GrantAnswer = { deposed: false, epoch, submitters, again, next: next.state, dueInMs, heldBy };
  await publishGrantTurn(client, {
    ...input,
    epoch,
    state: LEADER_STATES[next.state],
    wakeAtMs: next.state === 'waiting' ? due.nowMs + next.inMs : null,
    answer,
    leaseMs,
  });
  return answer;
};

/**
 * Of a quarter of the slots each: their processes share the calls, and one that dies takes no more
 * with it.
 */
const startSubmitters = async (
  client: Client,
  queuerId: number,
  epoch: number,
  slots: number,
  look: Look,
  leaseMs: number,
): Promise<GrantAnswer['submitters']> => {
  const crew = Math.max(1, Math.ceil(slots / 4));
  const groups = new Map<string, { handler: string; timeoutMs: number; node: string | null; grants: Grant[] }>();
  for (const grant of look.plan.grants) {
    const { handler, timeoutMs } = look.batches.get(grant.batchId)!;
    const node = look.nodes.get(grant.laneId) ?? null;
    const key = JSON.stringify([handler, node]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { handler, timeoutMs, node, grants: [grant] });
    else group.grants.push(grant);
  }
  const submitters: GrantAnswer['submitters'] = [];
  for (const { handler, timeoutMs, node, grants } of groups.values())
    for (let at = 0; at < grants.length; at += crew) {
      const part = grants.slice(at, at + crew);
      const no = await insertSubmitter(client, queuerId, epoch, part.length, START_LEASE_MS);
      await hand(client, part, no);
      const serving = node === null ? {} : { serving: { node, leaseMs } };
      submitters.push({ no, handler, slots: part.length, batches: part.length, callTimeoutMs: timeoutMs, ...serving });
    }
  return submitters;
};

/**
 * Until its activity has begun: a worker may be busy. The workflow's schedule-to-start timeout is
 * shorter.
 */
const START_LEASE_MS = 30_000;

const hand = (client: Client, grants: readonly Grant[], submitter: number): Promise<void> =>
  store.grantBatches(
    client,
    grants.map(({ batchId, from, startInMs }) => ({ id: batchId, from: STATUSES[from], submitter, startInMs })),
  );

/** What the plan changes besides the grants themselves. `grants`: those of it that are made. */
const writePlan = async (client: Client, queuerId: number, look: Look, grants: readonly Grant[]): Promise<void> => {
  const { plan, lanes } = look;
  const granted = new Map<number, number>();
  for (const { laneId } of grants) granted.set(laneId, (granted.get(laneId) ?? 0) + 1);
  if (plan.lanes.length > 0)
    await store.updateLanes(
      client,
      plan.lanes.map((lane) => ({
        lane_id: lane.laneId,
        deficit: lane.deficit,
        served: lane.served,
        pending: lane.pending,
        saturated: lane.saturated,
        ready: lane.ready,
        due_in_ms: lane.dueInMs,
        granted: granted.get(lane.laneId) ?? 0,
        blocked_by: lane.heldBy,
        unserved_by: lane.unservedBy,
        halted_by: lane.haltedBy,
        halt_reason:
          lane.haltedBy === null || lanes.get(lane.laneId)?.haltedBy != null
            ? null
            : haltOf(plan.failures, lane.haltedBy),
      })),
    );
  // After the lanes: those of their dependents are worth a look now.
  if (plan.failures.length > 0) await failAll(client, plan.failures);
  // Of what is granted only: rates of batches that another process is to send are not taken here.
  const granting = (kind: 'handlerId' | 'targetId'): Set<number> =>
    new Set(grants.map(({ batchId }) => look.batches.get(batchId)![kind]));
  await writePaces(client, 'handler', only(plan.paced.handlers, granting('handlerId')));
  await writePaces(client, 'target', only(plan.paced.targets, granting('targetId')));
  if (grants.length > 0) await store.updateRound(client, queuerId, plan.round, grants.length);
};

const only = <T>(all: ReadonlyMap<number, T>, ids: ReadonlySet<number>): Map<number, T> =>
  all.size === 0 ? new Map<number, T>() : new Map([...all].filter(([id]) => ids.has(id)));

const haltOf = (failures: readonly DependencyFailure[], batchId: number): string => {
  const on = failures.find((failure) => failure.batchId === batchId)?.on;
  // Parked while another one halted the lane: now it is its turn.
  if (on === undefined)
    return `unknown: nobody knows whether batch ${batchId} was applied; \`lane fix\` or \`lane skip\` it`;
  return `batch ${batchId} was not sent: batch ${on}, on which it depends, was not applied`;
};

const failAll = async (client: Client, failures: readonly DependencyFailure[]): Promise<void> => {
  for (const { batchId, on } of failures) await failDependents(client, batchId, on);
};

/** A submitter of this process that asks for its next batches. */
export interface Ask {
  no: number;
  epoch: number;
  slots: number;
}

export interface NextGrants {
  /** By submitter. */
  batches: Map<number, CarriedBatch[]>;
  /**
   * Submitters that must give up what they got nothing for: taken for dead, everything is paused,
   * or another's turn.
   */
  over: Set<number>;
  /** There may be something else for those who got nothing. */
  again: boolean;
  /** Others are free, and there may be something for them. */
  more: boolean;
}

/**
 * The next batches of some submitters of one process, for the slots that they have free: under the
 * same lock, by the same plan, in one transaction. Only what this process can send; where the next
 * in turn is of another one's handlers, or of a lane that another one serves, slots are given up,
 * and the queuer starts a submitter for it.
 */
export const grantNext = async (
  deps: { pool: Pool; handlers: ReadonlyMap<string, unknown>; node: string },
  queuerId: number,
  asks: readonly Ask[],
): Promise<NextGrants> =>
  withRetries(() =>
    inTransaction(
      deps.pool,
      async (client) => {
        const queuer = await store.lockQueuer(client, queuerId);
        const known = await keepSubmitters(client, distinct(asks), SUBMITTER_LEASE_MS);
        if (queuer?.expired === true) await store.recoverExpired(client, queuerId);
        const over = new Set(asks.map(({ no }) => no).filter((no) => !known.has(no)));
        if (queuer === null || known.size === 0 || queuer.paused || queuer.taken > queuer.slots)
          return { batches: new Map(), over: new Set(asks.map(({ no }) => no)), again: false, more: true };
        const seats = asks
          .filter(({ no }) => known.has(no))
          .flatMap(({ no, slots }) => Array.from({ length: slots }, () => no));
        const look = await lookAtLanes(client, queuerId, queuer, seats.length);
        const isOurs = ({ batchId, laneId }: Grant): boolean =>
          deps.handlers.has(look.batches.get(batchId)!.handler) && (look.nodes.get(laneId) ?? deps.node) === deps.node;
        const foreign = new Set(look.plan.grants.filter((grant) => !isOurs(grant)).map(({ laneId }) => laneId));
        const grants = look.plan.grants.filter(({ laneId }) => !foreign.has(laneId));
        look.plan.lanes = look.plan.lanes.filter(({ laneId }) => !foreign.has(laneId));
        const batches = await handOut(client, grants, seats);
        await writePlan(client, queuerId, look, grants);
        if (foreign.size > 0) for (const no of seats.slice(grants.length)) over.add(no);
        const changes = new Map(look.plan.lanes.map((lane) => [lane.laneId, lane.ready]));
        const readyStill = look.plan.again || [...look.lanes.keys()].some((id) => changes.get(id) ?? true);
        return { batches, over, again: look.plan.again, more: readyStill && queuer.taken < queuer.slots };
      },
      BEGIN_SHORT,
    ),
  );

const distinct = (asks: readonly Ask[]): Ask[] => [...new Map(asks.map((ask) => [ask.no, ask])).values()];

/** Each grant to the next seat. */
const handOut = async (
  client: Client,
  grants: readonly Grant[],
  seats: readonly number[],
): Promise<Map<number, CarriedBatch[]>> => {
  const batches = new Map<number, CarriedBatch[]>();
  if (grants.length === 0) return batches;
  await store.grantBatches(
    client,
    grants.map(({ batchId, from, startInMs }, at) => ({
      id: batchId,
      from: STATUSES[from],
      submitter: seats[at]!,
      startInMs,
    })),
  );
  const carried = new Map(
    (
      await readCarried(
        client,
        grants.map(({ batchId }) => batchId),
      )
    ).map((batch) => [batch.id, batch]),
  );
  for (const [at, { batchId }] of grants.entries()) {
    const no = seats[at]!;
    batches.set(no, [...(batches.get(no) ?? []), carried.get(batchId)!]);
  }
  return batches;
};

const NOTHING: Omit<GrantAnswer, 'epoch'> = {
  deposed: false,
  submitters: [],
  again: false,
  next: 'working',
  dueInMs: null,
  heldBy: null,
};

/**
 * As a leader's repeated turn: nothing is written; what an earlier turn granted and the workflow
 * never started is recovered by the next.
 */
const repeated = (queuer: LockedQueuer, input: GrantInput): GrantAnswer => {
  if (input.turn < queuer.turn) return { ...NOTHING, epoch: queuer.epoch, again: true, heldBy: 'a repeated turn' };
  const last = queuer.answer as GrantAnswer;
  const dueInMs =
    last.dueInMs === null ? null : Math.max(0, Math.ceil((queuer.wakeAtMs ?? queuer.nowMs) - queuer.nowMs));
  return { ...last, dueInMs, again: true };
};
