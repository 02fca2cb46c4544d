import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { HERD, MOVERS, STEADY } from './movers';
import { countOpen, describeOpen, readNewest } from './openWork';
import type { Phase } from './phases';
import type { TargetFigures } from './targets';
import { measureTargets } from './targets';
import type { Fault } from './judge/truth';
import type { World } from './world';

/** Runs one fault, and measures what it costs. */

export interface PhaseFigures {
  phase: string;
  faultMs: number;
  /** From its end to the next movement, by mover; null: not within the timeout. */
  againMs: Record<string, number | null>;
  /** The longest of those. */
  goesOnMs: number | null;
  /** Of single targets that had open work at its end. */
  targets: Record<string, TargetFigures>;
  /** Longest without a movement, from the beginning of the fault until all was drained. */
  stillMs: Record<string, number>;
  /**
   * Until all that was accepted before the fault's end had ended; null: not within the timeout.
   */
  drainedMs: number | null;
  submits: { againMs: number | null; longestMs: number; failures: number; messages: string[] };
  deaths: number;
  loadAverage: number;
  own: Record<string, unknown>;
}

/** A mover whose next movement does not come within this is waited for no longer: it is stuck. */
const TIMEOUT_MS = 180_000;
const DRAIN_MS = 300_000;
/** What is still open so long after a fault is told once. */
const TOLD_AFTER_MS = 8_000;
const STEADY_MS = 3_000;
/** The leaders of a herd take their turns before and after those of everybody. */
const STEADY_BESIDE_HERD_MS = 15_000;

/** Until every steady mover has moved just now. */
export const untilSteady = async (world: World, withinMs = STEADY_MS): Promise<void> => {
  const { downstream } = world;
  const begunMs = performance.now();
  const late = () => STEADY.filter(({ name }) => performance.now() - (downstream.movedAt(name) ?? 0) > withinMs);
  for (; late().length > 0; await sleep(200))
    if (performance.now() - begunMs > TIMEOUT_MS)
      throw new Error(
        `Cannot begin: no call of ${late()
          .map(({ name }) => name)
          .join(', ')} for ${withinMs} ms.`,
      );
};

/** The fault's times, and the figures; the calm after it is the caller's. */
export const measure = async (phase: Phase, world: World): Promise<{ figures: PhaseFigures; fault: Fault }> => {
  const { downstream, load, crew, store, options } = world;
  await phase.prepare?.(world);
  await untilSteady(world, phase.name === HERD ? STEADY_BESIDE_HERD_MS : STEADY_MS);
  load.forget();
  const deaths = crew.deaths;
  const fromMs = performance.now();
  options.log(`${phase.name}: the fault begins`);
  const own = await phase.fault(world);
  const toMs = performance.now();
  const upTo = await readNewest(store);
  const loadAverage = os.loadavg()[0]!;
  options.log(
    `${phase.name}: the fault is over after ${Math.round(toMs - fromMs)} ms, load average ${loadAverage.toFixed(1)}`,
  );
  const moving = phase.name === HERD ? MOVERS : STEADY;
  const first = (name: string): number | null => downstream.firstSince(name, toMs);
  const targets = measureTargets(world, moving, upTo, toMs, DRAIN_MS);
  targets.catch(() => undefined); // told below
  while (moving.some(({ name }) => first(name) === null) && performance.now() - toMs < TIMEOUT_MS) await sleep(50);
  const againMs = Object.fromEntries(moving.map(({ name }) => [name, since(first(name), toMs)]));
  const all = Object.values(againMs);
  Object.assign(own, await phase.after?.(world));
  const drainedMs = await untilDrained(world, upTo, toMs);
  const endMs = performance.now();
  const figures: PhaseFigures = {
    phase: phase.name,
    faultMs: Math.round(toMs - fromMs),
    againMs,
    goesOnMs: all.includes(null) ? null : Math.max(...(all as number[])),
    targets: await targets,
    stillMs: Object.fromEntries(
      moving.map(({ name }) => [name, Math.round(downstream.longestStill(name, fromMs, endMs))]),
    ),
    drainedMs,
    submits: {
      againMs: since(load.acceptedAtMs.find((one) => one >= toMs) ?? null, toMs),
      longestMs: Math.round(load.longestMs),
      failures: load.failures,
      messages: [...load.messages],
    },
    deaths: crew.deaths - deaths,
    loadAverage: Number(loadAverage.toFixed(1)),
    own,
  };
  options.log(`${phase.name}: ${JSON.stringify(figures)}`);
  return { figures, fault: { name: phase.name, fromMs, toMs, settledMs: endMs } };
};

const since = (atMs: number | null, fromMs: number): number | null =>
  atMs === null ? null : Math.round(atMs - fromMs);

const untilDrained = async ({ store, options }: World, upTo: number, fromMs: number): Promise<number | null> => {
  let told = false;
  for (; performance.now() - fromMs < DRAIN_MS; await sleep(500)) {
    if ((await countOpen(store, upTo)) === 0) return Math.round(performance.now() - fromMs);
    if (told || performance.now() - fromMs < TOLD_AFTER_MS) continue;
    told = true;
    for (const line of await describeOpen(store, upTo)) options.log(`  still open: ${line}`);
  }
  return null;
};
