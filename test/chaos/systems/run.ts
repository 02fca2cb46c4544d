import { failedRuns } from '../../healing/failedRuns';
import { randomOf } from '../random';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Balance } from '../../liveness/balance';
import { judgeBalance } from '../../liveness/balance';
import { longestStalled } from '../../liveness/judge/longest';
import type { Fault as JudgedFault, Truth } from '../../liveness/judge/truth';
import { judgeTruth, RULES } from '../../liveness/judge/truth';
import { untilSteady } from '../../liveness/measure';
import { STEADY } from '../../liveness/movers';
import { countOpen, readEnds } from '../../liveness/openWork';
import { World } from '../../liveness/world';
import { ExecutionStream, judgeExecutions } from './executions';
import { FanoutStream, judgeFanouts } from './fanouts';
import { FAULTS } from './faults';
import type { FaultKind, PlannedFault } from './plan';
import { planFaults } from './plan';
import { recoveredAfter } from './recovery';
import type { Outcome, StruckFault } from './report';
import { outcomeOf } from './report';

/**
 * One run: faults one after another while work of all five systems arrives, and a count at the end.
 */

export interface ChaosOptions {
  /** Faults begin until then. */
  forMs: number;
  /** Most of them. */
  faults: number;
  seed: number;
  rate: number;
  workers: number;
  only: readonly FaultKind[];
  /** The rate of arrivals must be reached again within this after each fault. */
  withinMs: number;
  log: (line: string) => void;
}

const CONFIG = path.join(process.cwd(), 'dist', 'test', 'chaos', 'systems', 'config.js');
/** Of Postgres, if its disk is to be full: room for all that a run leaves. */
const DISK_BYTES = 4_000_000_000;
/** A fault after which work does not go on is waited for no longer. */
const GIVE_UP_MS = 180_000;
const END_MS = 300_000;
/** Every kind of work moves within this before the first fault. */
const STEADY_MS = 15_000;
/** For so long the rate is measured that is to be reached again after each fault. */
const BASE_MS = 10_000;

export const runChaos = async (options: ChaosOptions): Promise<Outcome> => {
  const begunMs = performance.now();
  const { seed, log, workers, rate, only } = options;
  const diskBytes = only.includes('disk-full') ? DISK_BYTES : undefined;
  const world = await World.start({ workers, rate, seed, log, leaders: 4, config: CONFIG, diskBytes });
  try {
    const streams = streamsOf(world, seed);
    world.load.start();
    for (const stream of streams.all) stream.start();
    await untilSteady(world, STEADY_MS);
    world.witness.start();
    const struck = await strikeAll(world, options, streams);
    await Promise.all([world.load.stop(), ...streams.all.map((stream) => stream.stop())]);
    await untilEmpty(world, streams);
    await world.witness.stop();
    const outcome = outcomeOf({
      ...options,
      seconds: (performance.now() - begunMs) / 1_000,
      struck,
      truth: truthOf(world, struck),
      longest: longestStalled(world.witness.rounds),
      unanswered: world.witness.unanswered,
      balance: await balanceOf(world),
      findings: await findingsOf(world, streams),
      fanouts: streams.fanouts.opened.size,
      executions: streams.executions.started.size,
      items: [...streams.executions.started.values(), ...streams.fanouts.opened.values()].reduce((a, b) => a + b, 0),
      verification: await world.client.verify({ full: true }),
      failedRuns: await failedRuns(await world.client.temporal(), world.prefix),
      deaths: world.crew.deaths,
      failedStarts: world.crew.failedStarts,
    });
    world.passed = outcome.passed;
    return outcome;
  } finally {
    await world.stop();
  }
};

interface Streams {
  fanouts: FanoutStream;
  executions: ExecutionStream;
  all: readonly (FanoutStream | ExecutionStream)[];
}
const streamsOf = ({ submitting, downstream }: World, seed: number): Streams => {
  const fanouts = new FanoutStream(submitting, `${downstream.url}/fanout`, randomOf(seed + 1));
  const executions = new ExecutionStream(submitting, randomOf(seed + 2));
  downstream.routes.set('/fanout', fanouts.take);
  downstream.routes.set('/run', executions.take);
  return { fanouts, executions, all: [fanouts, executions] };
};

const strikeAll = async (world: World, options: ChaosOptions, streams: Streams): Promise<StruckFault[]> => {
  const { log, seed, only, forMs, faults } = options;
  const random = randomOf(seed);
  const plan = planFaults(random, only);
  const struck: StruckFault[] = [];
  const before = world.downstream.effectsMs.length;
  await sleep(BASE_MS);
  const perS = ((world.downstream.effectsMs.length - before) * 1_000) / BASE_MS;
  log(`before any fault ${perS.toFixed(1)} tasks per second have their effect`);
  for (const endMs = performance.now() + forMs; performance.now() < endMs && struck.length < faults;) {
    const fault = plan.next().value;
    const one = await strike(world, fault, random, perS, log);
    struck.push(one);
    const recovered = one.recoveredMs === null ? 'at no time' : `after ${Math.round(one.recoveredMs)} ms`;
    const lasted = `${fault.kind} x ${one.struck}, ${Math.round(one.toMs - one.fromMs)} ms; recovered ${recovered}`;
    const arrived = `${world.load.accepted} tasks, ${streams.fanouts.opened.size} fan-outs, ${streams.executions.started.size} executions`;
    log(`${String(struck.length).padStart(4)} ${lasted}; ${arrived}`);
  }
  return struck;
};

const strike = async (
  world: World,
  fault: PlannedFault,
  random: () => number,
  perS: number,
  log: ChaosOptions['log'],
): Promise<StruckFault> => {
  const { downstream } = world;
  const fromMs = performance.now();
  const failure: string[] = [];
  const struck = await FAULTS[fault.kind]({ ...fault, world, random }).catch((error: Error) => {
    // The fault before may still be felt by the one who strikes; nothing may be left half done.
    log(`${fault.kind}: ${error.message}`);
    failure.push(error.message);
    return 0;
  });
  const toMs = performance.now();
  const recovered = (): number | null => recoveredAfter(downstream.effectsMs, perS, toMs, performance.now());
  const isMoving = (): boolean => STEADY.every(({ name }) => downstream.firstSince(name, toMs) !== null);
  while ((recovered() === null || !isMoving()) && performance.now() - toMs < GIVE_UP_MS) await sleep(100);
  const againMs = STEADY.map(({ name }): [string, number | null] => {
    const atMs = downstream.firstSince(name, toMs);
    return [name, atMs === null ? null : atMs - toMs];
  });
  const settledMs = performance.now();
  return {
    ...fault,
    struck,
    fromMs,
    toMs,
    settledMs,
    recoveredMs: recovered(),
    againMs: Object.fromEntries(againMs),
    failure: failure[0] ?? null,
  };
};

/** Until nothing is open, and all that is to be told was. */
const untilEmpty = async ({ store, load, downstream }: World, { fanouts }: Streams): Promise<void> => {
  const isEmpty = async (): Promise<boolean> => {
    const { rows } = await store.query<{ open: number }>(
      'select count(*)::int as open from execution where state in (0, 1, 2)',
    );
    return (
      rows[0]!.open === 0 &&
      fanouts.isTold &&
      (await countOpen(store, Number.MAX_SAFE_INTEGER)) === 0 &&
      load.toTell.every((id) => downstream.told.has(id))
    );
  };
  for (const endMs = performance.now() + END_MS; performance.now() < endMs && !(await isEmpty());) await sleep(500);
};

/** Nothing is ever calm here: alarms are not judged. */
const truthOf = ({ witness }: World, struck: readonly StruckFault[]): Truth => {
  const faults = struck.map(({ kind, fromMs, toMs, settledMs }): JudgedFault => ({
    name: kind,
    fromMs,
    toMs,
    settledMs,
  }));
  return judgeTruth(witness.rounds, faults, { ...RULES, calmMs: Infinity });
};

const balanceOf = async ({ load, store, downstream }: World): Promise<Balance> =>
  judgeBalance({
    acked: load.acked,
    toTell: load.toTell,
    stored: await readEnds(store),
    effects: downstream.effects,
    told: downstream.told,
    inversions: downstream.inversions,
    found: downstream.findings,
  });

const findingsOf = async ({ client }: World, { fanouts, executions }: Streams): Promise<string[]> => {
  const storedFanouts = [];
  for (const id of fanouts.opened.keys()) {
    const one = await client.fanouts.get(id, { exact: true });
    if (one !== null) storedFanouts.push({ id, state: one.state, items: one.items, open: one.open });
  }
  const storedExecutions = [];
  for (const id of executions.started.keys()) {
    const handle = client.execution(id);
    const items = [];
    for await (const { position, state, stdout } of handle.items()) items.push({ position, state, stdout });
    storedExecutions.push({ id, state: (await handle.status()).state, items });
  }
  const { opened, told, found } = fanouts;
  return [
    ...judgeFanouts({ opened, told, found, stored: storedFanouts }),
    ...judgeExecutions({ started: executions.started, runs: executions.runs, stored: storedExecutions }),
  ];
};
