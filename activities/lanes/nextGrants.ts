import { withRetries } from '../../postgres/errors';
import * as store from '../../postgres/lanes/grant';
import { lockQueuer } from '../../postgres/lanes/queuerLock';
import type { CarriedBatch } from '../../postgres/calls/batch';
import type { Client, Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { recoverExpired } from '../../postgres/lanes/recovery';
import { keepSubmitters, readCarried } from '../../postgres/lanes/submitter';
import type { Grant } from '../../workflows/planning/lanes/types';
import { STATUSES } from '../../workflows/planning/lanes/statuses';
import { BEGIN_SHORT } from '../../postgres/shortTransaction';
import type { FailedUnsent, OutcomesTold } from '../outcomes/told';
import { lookAtLanes } from './look';
import { writePlan } from './grantPlan';

/**
 * A submitter without a sign of life for this long is dead: a few ticks of a busy process. Shorter
 * than its heartbeat timeout: signs of life in the store cost no Temporal action. A submitter that
 * was only slow loses nothing but its claim: batches that it had marked wait for their true answer.
 */
export const SUBMITTER_LEASE_MS = 4_000;

/** A submitter of this process that asks for its next batches. */
export interface Ask {
  no: number;
  epoch: number;
  slots: number;
}

export interface NextGrants {
  /** Granted batches by submitter. */
  batches: Map<number, CarriedBatch[]>;
  /**
   * Submitters that must give up slots without a grant: taken for dead, everything is paused, or it
   * is another's turn.
   */
  over: Set<number>;
  /** There may be something else for the submitters that got nothing. */
  again: boolean;
  /** Other slots are free, and there may be something for them. */
  more: boolean;
}

interface Deps {
  pool: Pool;
  handlers: ReadonlyMap<string, unknown>;
  node: string;
  outcomes?: Pick<OutcomesTold, 'failedUnsent'> | undefined;
}

/**
 * Grants the next batches to some submitters of one process, for their free slots: under the same
 * lock, by the same plan, in one transaction. Only what this process can send; where the next in
 * turn belongs to a handler or a lane that another process serves, slots are given up, and the
 * queuer starts a submitter for it.
 */
export const grantNext = async (deps: Deps, queuerId: number, asks: readonly Ask[]): Promise<NextGrants> => {
  let failed: FailedUnsent[] = [];
  const next = await withRetries(() =>
    inTransaction<NextGrants>(
      deps.pool,
      async (client) => {
        failed = []; // of a try that was rolled back
        const queuer = await lockQueuer(client, queuerId);
        const known = await keepSubmitters(client, distinct(asks), SUBMITTER_LEASE_MS);
        if (queuer?.expired === true) await recoverExpired(client, queuerId);
        const over = new Set(asks.map(({ no }) => no).filter((no) => !known.has(no)));
        if (queuer === null || known.size === 0 || queuer.paused || queuer.taken > queuer.slots)
          return { batches: new Map(), over: new Set(asks.map(({ no }) => no)), again: false, more: true };
        // The submitter of each free slot.
        const freeSlots = asks
          .filter(({ no }) => known.has(no))
          .flatMap(({ no, slots }) => Array.from({ length: slots }, () => no));
        const look = await lookAtLanes(client, queuerId, queuer, freeSlots.length);
        const isOurs = ({ batchId, laneId }: Grant): boolean =>
          deps.handlers.has(look.batches.get(batchId)!.handler) && (look.nodes.get(laneId) ?? deps.node) === deps.node;
        const foreign = new Set(look.plan.grants.filter((grant) => !isOurs(grant)).map(({ laneId }) => laneId));
        const grants = look.plan.grants.filter(({ laneId }) => !foreign.has(laneId));
        look.plan.lanes = look.plan.lanes.filter(({ laneId }) => !foreign.has(laneId));
        const batches = await handOut(client, grants, freeSlots);
        failed = await writePlan(client, queuerId, look, grants);
        if (foreign.size > 0) for (const no of freeSlots.slice(grants.length)) over.add(no);
        const changes = new Map(look.plan.lanes.map((lane) => [lane.laneId, lane.ready]));
        const readyStill = look.plan.again || [...look.lanes.keys()].some((id) => changes.get(id) ?? true);
        return { batches, over, again: look.plan.again, more: readyStill && queuer.taken < queuer.slots };
      },
      BEGIN_SHORT,
    ),
  );
  for (const one of failed) deps.outcomes?.failedUnsent(one);
  return next;
};

const distinct = (asks: readonly Ask[]): Ask[] => [...new Map(asks.map((ask) => [ask.no, ask])).values()];

/** Hands each grant to the submitter of the next free slot. */
const handOut = async (
  client: Client,
  grants: readonly Grant[],
  freeSlots: readonly number[],
): Promise<Map<number, CarriedBatch[]>> => {
  const batches = new Map<number, CarriedBatch[]>();
  if (grants.length === 0) return batches;
  await store.grantBatches(
    client,
    grants.map(({ batchId, from, startInMs }, at) => ({
      id: batchId,
      from: STATUSES[from],
      submitter: freeSlots[at]!,
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
    const no = freeSlots[at]!;
    batches.set(no, [...(batches.get(no) ?? []), carried.get(batchId)!]);
  }
  return batches;
};
