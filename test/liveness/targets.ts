import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';
import { leaderWorkflowId } from '../../workflows/naming';
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
/** From then on it is worth a look at what its leader's run did. */
const SLOW_MS = 20_000;
const EVERY_MS = 500;

/** By mover; those without open work are left out. Resolves when all of it has ended. */
export const measureTargets = async (
  world: World,
  moving: readonly Mover[],
  upTo: number,
  fromMs: number,
  patienceMs: number,
): Promise<Record<string, TargetFigures>> => {
  const { store, downstream, options } = world;
  const names = new Map(moving.map(({ name, handler, kind }) => [`${handler} ${kind}`, name]));
  const nameOf = (one: Owing): string | undefined => names.get(`${one.handler} ${one.kind}`);
  const owing = (await readOwing(store, upTo)).filter((one) => nameOf(one) !== undefined);
  const ended = new Map<Owing, number>();
  const still = (one: Owing, toMs: number): number =>
    downstream.longestStill(`${nameOf(one)!} ${one.target}`, fromMs, toMs);
  const slow = new Set<Owing>();
  for (;;) {
    const open = new Set((await readOwing(store, upTo)).map(keyOf));
    const nowMs = performance.now();
    for (const one of owing.filter((each) => !ended.has(each))) {
      if (!open.has(keyOf(one))) ended.set(one, nowMs);
      else if (still(one, nowMs) > SLOW_MS && !slow.has(one)) {
        slow.add(one);
        options.log(`  ${nameOf(one)!}, target ${one.target}: has not moved for ${SLOW_MS} ms, with open work`);
      }
    }
    if (ended.size === owing.length || nowMs - fromMs > patienceMs) break;
    await sleep(EVERY_MS);
  }
  for (const one of slow) await keepHistory(one, world);
  return figuresOf(
    owing.map((one) => ({
      mover: nameOf(one)!,
      target: one.target,
      ms: ended.has(one) ? still(one, ended.get(one)!) : null,
    })),
  );
};

/** What the run of its leader did last, for whoever looks for the reason. */
const keepHistory = async (one: Owing, { prefix, runDir, client }: World): Promise<void> => {
  const temporal = await client.temporal();
  const handle = temporal.workflow.getHandle(leaderWorkflowId(prefix, one.handler, one.leader, one.leaderId));
  const history = await handle.fetchHistory().catch(() => null); // it was never begun, or is over for long
  const events = history?.events?.slice(-200).map((event) => ({
    no: Number(event.eventId),
    type: event.eventType,
    at: new Date(Number(event.eventTime?.seconds) * 1_000 + (event.eventTime?.nanos ?? 0) / 1e6).toISOString(),
    ...(event.workflowTaskTimedOutEventAttributes ?? event.workflowTaskFailedEventAttributes ?? {}),
  }));
  appendFileSync(
    path.join(runDir, 'slow.ndjson'),
    `${JSON.stringify({ ...one, at: new Date().toISOString(), events })}\n`,
  );
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
