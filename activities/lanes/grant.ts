import type { Logger } from 'pino';
import { withRetries } from '../../postgres/errors';
import * as store from '../../postgres/lanes/grant';
import type { LockedQueuer } from '../../postgres/lanes/queuerLock';
import { lockQueuer } from '../../postgres/lanes/queuerLock';
import { recoverSubmitters } from '../../postgres/lanes/recovery';
import { hasUnseenWork, publishGrantTurn } from '../../postgres/lanes/queuer';
import type { Client, Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { insertSubmitter } from '../../postgres/lanes/submitter';
import type { GrantAnswer, GrantInput } from '../../workflows/messages';
import { decideNextGrant } from '../../workflows/planning/lanes/nextGrant';
import type { Grant } from '../../workflows/planning/lanes/types';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { START_LIMIT_MS, startLimitMs } from '../../workflows/planning/startLimit';
import { LEADER_STATES } from '../../workflows/planning/states';
import type { Look } from './look';
import type { NodeSettings } from '../nodes/settings';
import { BEGIN_SHORT } from '../../postgres/shortTransaction';
import { lookAtLanes } from './look';
import type { FailedUnsent, OutcomesTold } from '../outcomes/told';
import { leadershipOf } from '../grouping/reserve';
import { writePlan } from './grantPlan';

interface Deps {
  pool: Pool;
  leaseMs: number;
  nodes: Pick<NodeSettings, 'leaseMs'>;
  log: Pick<Logger, 'error'>;
  outcomes?: Pick<OutcomesTold, 'failedUnsent'> | undefined;
}

/**
 * Takes one turn of a queuer: takes back what dead submitters held, grants free slots, publishes
 * what it waits for; in one transaction guarded by `(run, epoch, turn)` as a leader's. After it, in
 * a new snapshot, the queuer's half of the handshake with the ring: is there something that it did
 * not see?
 */
export const grantLanes = async (deps: Deps, input: GrantInput): Promise<GrantAnswer> => {
  if (!Number.isInteger(input.queuerId)) return { ...NOTHING, foreign: true, epoch: 0, next: 'idle' }; // started by hand
  let failed: FailedUnsent[] = [];
  const turn = (): Promise<GrantAnswer> => {
    failed = []; // of a try that was rolled back
    return inTransaction(
      deps.pool,
      (client) => takeTurn(client, deps, input, (those) => (failed = those)),
      BEGIN_SHORT,
    );
  };
  const answer = await withRetries(turn).catch((error: unknown) => {
    // Log it here: the workflow retries indefinitely and reports nothing.
    deps.log.error({ err: error, queuer: input.queuerId, turn: input.turn }, 'a turn of the queuer failed');
    throw error;
  });
  for (const one of failed) deps.outcomes?.failedUnsent(one);
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
  onFailed: (failed: FailedUnsent[]) => void,
): Promise<GrantAnswer> => {
  const queuer = await lockQueuer(client, input.queuerId);
  if (queuer === null) return { ...NOTHING, foreign: true, epoch: 0, next: 'idle' };
  const leadership = leadershipOf(queuer, input);
  if (leadership.kind === 'deposed') return { ...NOTHING, deposed: true, epoch: queuer.epoch, next: 'idle' };
  if (leadership.kind === 'repeated') return repeated(queuer, input);
  const { epoch, live } = leadership;

  const taken = await recoverSubmitters(client, input.queuerId, live);
  const free = input.mayClaim && !queuer.paused ? Math.max(0, queuer.slots - taken) : 0;
  const look = await lookAtLanes(client, input.queuerId, queuer, free);
  const submitters = await startSubmitters(client, input.queuerId, epoch, queuer.slots, look, nodes.leaseMs);
  onFailed(await writePlan(client, input.queuerId, look, look.plan.grants));
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
 * Starts submitters of a quarter of the slots each, to spread calls over processes and to limit
 * what one crash takes down.
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
      const inVainMs = Math.max(...part.map(({ batchId }) => look.batches.get(batchId)!.inVainMs));
      const limitMs = startLimitMs(node === null ? START_LIMIT_MS : leaseMs, inVainMs);
      const no = await insertSubmitter(client, queuerId, epoch, part.length, limitMs + LONGER_THAN_START_MS);
      await hand(client, part, no);
      const times = { callTimeoutMs: timeoutMs, startLimitMs: limitMs };
      const serving = node === null ? {} : { serving: { node, leaseMs } };
      submitters.push({ no, handler, slots: part.length, batches: part.length, ...times, ...serving });
    }
  return submitters;
};

/**
 * Margin of a submitter's first lease over the time its activity may wait for a worker: a submitter
 * started at the last moment still holds its batches.
 */
const LONGER_THAN_START_MS = 10_000;

const hand = (client: Client, grants: readonly Grant[], submitter: number): Promise<void> =>
  store.grantBatches(
    client,
    grants.map(({ batchId, from, startInMs }) => ({ id: batchId, from: STATUSES[from], submitter, startInMs })),
  );

const NOTHING: Omit<GrantAnswer, 'epoch'> = {
  deposed: false,
  submitters: [],
  again: false,
  next: 'working',
  dueInMs: null,
  heldBy: null,
};

/**
 * Handles a repeated turn, as a leader's: writes nothing; what an earlier turn granted and the
 * workflow never started is recovered by the next.
 */
const repeated = (queuer: LockedQueuer, input: GrantInput): GrantAnswer => {
  if (input.turn < queuer.turn) return { ...NOTHING, epoch: queuer.epoch, again: true, heldBy: 'a repeated turn' };
  const last = queuer.answer as GrantAnswer;
  const dueInMs =
    last.dueInMs === null ? null : Math.max(0, Math.ceil((queuer.wakeAtMs ?? queuer.nowMs) - queuer.nowMs));
  return { ...last, dueInMs, again: true };
};
