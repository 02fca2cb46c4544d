import type { TurnAnswer, TurnInput } from '../../workflows/messages';
import { planClaim } from '../../workflows/planning/grouping/claim';
import type { ClaimPlan } from '../../workflows/planning/grouping/claim';
import { MOST_COUNTED } from '../../workflows/planning/grouping/leaderDetails';
import { FLUSH_REASONS } from '../../workflows/planning/states';
import * as claim from '../../postgres/grouping/claim';
import type { LockedLeader } from '../../postgres/grouping/leader';
import { countBacklog, isDueEarlier, lockLeader, lockLeaderAndHandler } from '../../postgres/grouping/leader';
import { wakeForFreeSlots } from '../../postgres/grouping/leaderWakes';
import type { HeadTask } from '../../postgres/grouping/queueHead';
import type { SupersededTask } from '../../postgres/grouping/superseded';
import { promoteDelayed, readQueueHeads } from '../../postgres/grouping/queueHead';
import { startTakenBatches } from '../../postgres/grouping/start';
import { hasFreeSlot, readHandlerWeight, useDispatch } from '../../postgres/grouping/slots';
import type { LockedShare } from '../../postgres/limits/shared';
import { lockShare, writeShare } from '../../postgres/limits/shared';
import type { Serving } from '../../postgres/nodes/partition';
import { readServing } from '../../postgres/nodes/partition';
import type { Client, Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { withRetries } from '../../postgres/errors';
import type { WokenLeader } from '../../postgres/grouping/ring';
import { lowerDue, WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import type { NodeSettings } from '../nodes/settings';
import type { Claimed, Turn } from './publish';
import { BEGIN_SHORT } from '../../postgres/shortTransaction';
import { deposed, foreign, publish, repeated, touchedBy } from './publish';
import type { Reservation } from './reserve';
import { batchLimits, itemsOf, MAX_BATCHES, MAX_TARGETS, MAX_TASKS, wantedOf } from './mostOfClaim';
import { endUnsent } from './superseded';
import { hasLimitsOverTargets, isOwn, reserveSlots, leadershipOf } from './reserve';

/**
 * Batches claimed ahead for each slot: small ones too keep it busy while the next claim is being
 * made. Full ones meet MAX_TASKS first.
 */
const BATCHES_PER_SLOT = 64;

export interface ClaimDeps {
  pool: Pool;
  leaseMs: number;
  /** The lease of partitions. */
  nodes: Pick<NodeSettings, 'leaseMs'>;
  /** Sends `signalWithStart` to leaders that another statement has already written as working. */
  wake: (leaders: readonly WokenLeader[]) => Promise<void>;
  /** Tells of tasks that a claim has ended: they are not sent. */
  tellUnsent: (handler: string, ended: readonly SupersededTask[]) => Promise<void>;
}

/**
 * Takes one turn of a leader: takes slots, adopts orphans, cuts what is due, hands it to a
 * dispatch, publishes what the leader waits for. Slots are taken in a short transaction before,
 * under the handler's lock: the claims of one handler's leaders then run in parallel (under one
 * lock they were most of a backlog's time). The claim is one transaction guarded by `(run, epoch,
 * turn)`. After it, in new snapshots, the leader's half of the handshake with the ring: is
 * something due earlier, is a slot free that was not?
 */
export const claimBatches = async (deps: ClaimDeps, input: TurnInput): Promise<TurnAnswer> => {
  if (!Number.isInteger(input.leaderId)) return foreign().answer; // started by hand
  const turn = await reserveAndTake(deps, input);
  const { answer } = turn;
  if (answer.deposed || answer.foreign === true) return answer;
  // Whatever was committed while the claim ran saw the leader working and did not wake it: look for
  // it now, in new snapshots.
  if (turn.touched.length > 0) await withRetries(() => lowerDue(deps.pool, turn.touched));
  if (answer.next !== 'working' && (await isDueEarlier(deps.pool, input.leaderId))) answer.again = true;
  if (turn.wantsSlots && (await hasFreeSlot(deps.pool, input.leaderId))) answer.again = true;
  if (input.backlog === true && answer.next !== 'idle')
    answer.backlog = await countBacklog(deps.pool, input.leaderId, MOST_COUNTED);
  const { handler, ended } = turn.unsent ?? { handler: '', ended: [] };
  if (ended.length > 0) await deps.tellUnsent(handler, ended);
  await deps.wake(await wakeForFreeSlots(deps.pool, turn.handlerId, input.leaderId, WAKE_LEASE_MS));
  return answer;
};

/**
 * What was reserved does not hold any more. Of two runs that reserve at once, the later one forgets
 * what the earlier one took: the earlier one reserves again, if it leads then. So does one whose
 * handler got a rate or a weight in between: the claim did not lock what those are counted in.
 */
class ReserveAgainError extends Error {}

const reserveAndTake = async (deps: ClaimDeps, input: TurnInput): Promise<Turn> => {
  for (let attempt = 1; ; attempt++) {
    const reserved = await withRetries(() =>
      inTransaction(deps.pool, (client) => reserveSlots(client, input), BEGIN_SHORT),
    );
    try {
      const take = (client: Client): Promise<Turn> => takeTurn(client, deps, input, reserved);
      return await withRetries(() => inTransaction(deps.pool, take, BEGIN_SHORT));
    } catch (error) {
      if (!(error instanceof ReserveAgainError) || attempt >= 5) throw error;
    }
  }
};

const takeTurn = async (
  client: Client,
  deps: ClaimDeps,
  input: TurnInput,
  reserved: Reservation | null,
): Promise<Turn> => {
  // Tokens of the handler other than slots are taken as they are used: under its lock, to the end.
  const locked = reserved?.wholeHandler === true ? lockLeaderAndHandler : lockLeader;
  const leader = await locked(client, input.leaderId);
  if (leader === null || !isOwn(leader, input)) return foreign();
  const leadership = leadershipOf(leader, input);
  if (leadership.kind === 'deposed') return deposed(leader);
  if (leadership.kind === 'repeated') return repeated(leader, input);
  if (reserved?.wholeHandler === false && hasLimitsOverTargets(leader))
    throw new ReserveAgainError(
      `leader ${input.leaderId}: its handler got limits over all targets since turn ${input.turn} reserved`,
    );
  const { epoch, live } = leadership;
  // The look that was to follow the last run's turn may have died with that run; the stored answer
  // names its targets.
  const inherited = leader.holder === input.runId ? [] : touchedBy(leader);

  const kept = reserved === null ? live : [...live, reserved.no];
  const adopted = await claim.adoptOrphans(client, input.leaderId, kept);
  const released = await claim.releaseBusyTargets(client, input.leaderId);
  const serving = leader.partitions === 0 ? null : await readServing(client, leader.handlerId, leader.name);
  const claimed = await claimDue(
    client,
    leader,
    input,
    epoch,
    reserved,
    serving === null ? null : { ...serving, leaseMs: deps.nodes.leaseMs },
  );
  const touched = [...new Set([...inherited, ...adopted, ...released, ...claimed.touched])];
  const published = await publish(client, deps.leaseMs, leader, input, epoch, live.length, claimed, touched);
  const { unsent } = claimed;
  return { ...published, touched, handlerId: leader.handlerId, ...(unsent === undefined ? {} : { unsent }) };
};

const claimDue = async (
  client: Client,
  leader: LockedLeader,
  input: TurnInput,
  epoch: number,
  reserved: Reservation | null,
  serving: (Serving & { leaseMs: number }) | null,
): Promise<Claimed> => {
  const unserved = serving !== null && serving.node === null;
  const nothing: Claimed = { plan: null, touched: [], dispatch: null, slotsLeft: reserved?.wanting !== true, unserved };
  if (reserved === null || reserved.slots === 0) return nothing;
  if (leader.paused || leader.handlerHoldMs !== null || unserved) {
    await useDispatch(client, input.leaderId, reserved.no, 0);
    return nothing;
  }
  const maxBatches = Math.min(MAX_BATCHES, reserved.slots * BATCHES_PER_SLOT);
  // Every due target gives a batch: more targets would be read, and written back, for nothing.
  const targets = await claim.lockDueTargets(client, input.leaderId, Math.min(MAX_TARGETS, maxBatches));
  const share = leader.shares === null ? null : await lockShare(client, leader.handlerId);
  const { plan, heads } = await planDue(client, leader, targets, maxBatches, share);
  const count = plan.take.length + plan.cut.length;
  const slots = Math.min(reserved.slots, count);
  const dispatch =
    count === 0
      ? null
      : {
          no: reserved.no,
          batches: count,
          tasks: plan.tasks,
          slots,
          callTimeoutMs: leader.timeoutMs,
          ...servedBy(serving),
        };
  if (!(await useDispatch(client, input.leaderId, reserved.no, slots)))
    throw new ReserveAgainError(`leader ${input.leaderId}: the slots of turn ${input.turn} are gone; rolled back`);
  const ended = await writeClaim(client, leader, input, epoch, plan, dispatch, heads);
  if (share !== null) await writeShareOf(client, leader, share.id, plan);
  const unsent = { handler: leader.handler, ended };
  return { plan, touched: targets.map(({ id }) => id), dispatch, slotsLeft: true, unsent };
};

/**
 * Returns the node that holds the partition: the work goes to that node's queue, under that epoch.
 */
const servedBy = (
  serving: (Serving & { leaseMs: number }) | null,
): Pick<NonNullable<TurnAnswer['dispatch']>, 'serving'> =>
  serving === null || serving.node === null ? {} : { serving: { ...serving, node: serving.node } };

const planDue = async (
  client: Client,
  leader: LockedLeader,
  targets: readonly claim.DueTarget[],
  maxBatches: number,
  shared: LockedShare | null,
): Promise<{ plan: ClaimPlan; heads: Map<number, HeadTask[]> }> => {
  const ids = targets.map((target) => target.id);
  if (ids.length > 0) await promoteDelayed(client, ids, MAX_TASKS);
  const wanted = targets.map((target) => wantedOf(leader, itemsOf(leader, target), maxBatches));
  const total = Math.max(MAX_TASKS + MAX_TARGETS, ...targets.map((target) => itemsOf(leader, target) + 1));
  const heads = await readQueueHeads(client, ids, wanted, total, leader);
  const seen = [...heads.values()].reduce((sum, head) => sum + head.length, 0);
  const lastSeen = [...heads.keys()].at(-1);
  const plan = planClaim(
    {
      limits: batchLimits(leader),
      perTarget: leader.perTarget,
      weightPerTarget: leader.weightPerTarget,
      weightPerHandler: leader.weightPerHandler,
      rates: leader.rates,
      paces: leader.paces,
      shared,
      weightInFlight: leader.weightPerHandler === null ? 0 : await readHandlerWeight(client, leader.handlerId),
      targets: targets.map((target, i) => {
        const head = heads.get(target.id) ?? [];
        // The statement's own limit may have cut the last head short, and left out those after it.
        const cutShort = seen >= total && (target.id === lastSeen || !heads.has(target.id));
        return { ...target, head, more: head.length >= wanted[i]! || cutShort };
      }),
      waiting: ids.length === 0 ? [] : await claim.findReadyBatches(client, ids, maxBatches),
      maxBatches,
      maxTasks: MAX_TASKS,
      coalesces: leader.coalesces,
    },
    leader.nowMs,
  );
  return { plan, heads };
};

const writeClaim = async (
  client: Client,
  leader: LockedLeader,
  input: TurnInput,
  epoch: number,
  plan: ClaimPlan,
  dispatch: TurnAnswer['dispatch'],
  heads: Awaited<ReturnType<typeof readQueueHeads>>,
): Promise<SupersededTask[]> => {
  let ended: SupersededTask[] = [];
  if (dispatch !== null) {
    if (plan.take.length > 0) await claim.takeBatches(client, plan.take, dispatch.no);
    if (plan.later.length > 0) await startTakenBatches(client, plan.later);
    if (plan.cut.length > 0) {
      const by = { leaderId: input.leaderId, epoch, turn: input.turn, dispatch: dispatch.no, keyed: leader.keyed };
      await claim.insertBatches(
        client,
        by,
        plan.cut.map(({ targetId, reason, seqs, tasks, bytes, weight, startAtMs }) => ({
          targetId,
          reason: FLUSH_REASONS[reason],
          seqs,
          tasks: tasks as readonly HeadTask[], // the plan's tasks are those of the heads
          bytes,
          weight,
          startAtMs,
        })),
      );
      const superseded = plan.cut.flatMap((batch) => batch.superseded ?? []);
      if (superseded.length > 0) ended = await endUnsent(client, leader.handler, superseded, bySeq(heads));
    }
  }
  if (plan.targets.length > 0)
    await claim.updateTargets(
      client,
      plan.targets.map((target) => ({
        id: target.id,
        due_at_ms: target.dueAtMs,
        busy: target.busy,
        paces: target.paces,
        hold_ms: target.holdMs,
      })),
    );
  if (leader.rates.some((rate) => rate.scope === 'handler') && dispatch !== null)
    await claim.updateHandlerPaces(client, leader.handlerId, plan.paces);
  return ended;
};

const bySeq = (heads: ReadonlyMap<number, readonly HeadTask[]>): Map<number, HeadTask> =>
  new Map([...heads.values()].flatMap((head) => head.map((task): [number, HeadTask] => [task.seq, task])));

const writeShareOf = async (client: Client, leader: LockedLeader, id: number, plan: ClaimPlan): Promise<void> => {
  if (plan.shared === undefined) return;
  const { paces, ownMs, wants } = plan.shared;
  const wantsMs = wants ? Math.max(leader.nowMs, plan.pacedUntilMs ?? 0) : null;
  await writeShare(client, { id, handlerId: leader.handlerId, paces, ownMs, wantsMs });
};
