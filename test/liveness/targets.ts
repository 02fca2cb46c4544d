import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';
import { leaderWorkflowId, monitorWorkflowId, queuerWorkflowId } from '../../workflows/naming';
import type { Mover } from './movers';
import type { Owing } from './openWork';
import { readOwing } from './openWork';
import type { World } from './world';

/**
 * Whether each target goes on that had something to do when the fault ended: one leader of many may
 * stand, and its handler does not show it.
 */

export interface TargetFigures {
  /** Targets that had open work. */
  n: number;
  /**
   * Longest that one of them did not move, from the end of the fault until what it had then had
   * ended; null: that did not end.
   */
  stillMs: number | null;
  /** Which one. */
  target: string;
}
/** After this, what its run did last is kept. */
const SLOW_MS = 20_000;
const EVERY_MS = 500;

/** By mover; those without open work are left out. Resolves when all of it has ended. */
export const measureTargets = async (
  world: World,
  moving: readonly Mover[],
  upTo: number,
  fromMs: number,
  timeoutMs: number,
): Promise<Record<string, TargetFigures>> => {
  const { store, downstream, options } = world;
  const movers = new Map(moving.map((mover) => [`${mover.handler} ${mover.kind}`, mover]));
  const moverOf = (one: Owing): Mover | undefined => movers.get(`${one.handler} ${one.kind}`);
  const nameOf = (one: Owing): string | undefined => moverOf(one)?.name;
  const owing = (await readOwing(store, upTo)).filter((one) => nameOf(one) !== undefined);
  const ended = new Map<Owing, number>();
  const still = (one: Owing, toMs: number): number =>
    downstream.longestStill(`${nameOf(one)!} ${one.target}`, fromMs, toMs);
  const slow = new Set<Owing>();
  const kept: Promise<void>[] = [];
  for (;;) {
    const open = new Set((await readOwing(store, upTo)).map(keyOf));
    const nowMs = performance.now();
    for (const one of owing.filter((each) => !ended.has(each))) {
      if (!open.has(keyOf(one))) ended.set(one, nowMs);
      else if (still(one, nowMs) > SLOW_MS && !slow.has(one)) {
        slow.add(one);
        options.log(`  ${nameOf(one)!}, target ${one.target}: has not moved for ${SLOW_MS} ms, with open work`);
        kept.push(keepHistory(one, moverOf(one)!, world).catch(() => undefined)); // now: later its run is another
      }
    }
    if (ended.size === owing.length || nowMs - fromMs > timeoutMs) break;
    await sleep(EVERY_MS);
  }
  await Promise.all(kept);
  return figuresOf(
    owing.map((one) => ({
      mover: nameOf(one)!,
      target: one.target,
      ms: ended.has(one) ? still(one, ended.get(one)!) : null,
    })),
  );
};

/** Keeps what the run did last that the target waits for. */
const keepHistory = async (one: Owing, mover: Mover, { prefix, runDir, client, store }: World): Promise<void> => {
  const temporal = await client.temporal();
  for (const id of await workflowsOf(one, mover, prefix, store)) {
    const history = await temporal.workflow
      .getHandle(id)
      .fetchHistory()
      .catch(() => null); // it was never begun, or is over for long
    const events = history?.events?.slice(-200).map((event) => ({
      no: Number(event.eventId),
      type: event.eventType,
      at: new Date(Number(event.eventTime?.seconds) * 1_000 + (event.eventTime?.nanos ?? 0) / 1e6).toISOString(),
      ...(event.workflowTaskTimedOutEventAttributes ?? event.workflowTaskFailedEventAttributes ?? {}),
    }));
    appendFileSync(
      path.join(runDir, 'slow.ndjson'),
      `${JSON.stringify({ ...one, workflow: id, at: new Date().toISOString(), events })}\n`,
    );
  }
};

/** Returns who moves the target: the monitor asks, a queuer calls in lanes, else a leader. */
const workflowsOf = async (one: Owing, mover: Mover, prefix: string, store: World['store']): Promise<string[]> => {
  if (one.kind === 'ask') return [monitorWorkflowId(prefix, one.handler)];
  if (!mover.lane) return [leaderWorkflowId(prefix, one.handler, one.leader, one.leaderId)];
  const { rows } = await store.query<{ id: number }>('select id from queuer where epoch > 0 order by id');
  return rows.map(({ id }) => queuerWorkflowId(prefix, id));
};

const keyOf = ({ handler, kind, target }: Owing): string => `${handler} ${kind} ${target}`;

/** The worst of each mover. Pure. */
export const figuresOf = (
  all: readonly { mover: string; target: string; ms: number | null }[],
): Record<string, TargetFigures> => {
  const figures: Record<string, TargetFigures> = {};
  for (const { mover, target, ms } of all) {
    const one = (figures[mover] ??= { n: 0, stillMs: 0, target });
    one.n++;
    if (one.stillMs === null || (ms !== null && ms < one.stillMs)) continue;
    one.stillMs = ms === null ? null : Math.round(ms);
    one.target = target;
  }
  return figures;
};
