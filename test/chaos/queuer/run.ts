import { setTimeout as sleep } from 'node:timers/promises';
import { inArena } from '../arena';
import type { ArenaOptions } from '../arena';
import type { Harness, Struck } from '../harness';
import { planKills, planStops } from '../plan';
import { LANE_POINTS } from '../points';
import { LANES } from '../scenario';
import type { Servers } from '../servers';
import { readEvidence, judge } from './checker';
import { Freezer } from './freezer';
import { serviceOf } from './handlers';
import { outcomeOf, tableOf } from './report';

export interface LaneChaos extends ArenaOptions {
  batches: number;
  lanes: number;
  kills: number;
  /** After the kills: so many stops of whoever grants or is about to send, past every lease. */
  stops: number;
  /** Of each handler; 0: no affinity. */
  partitions: number;
  /** With partitions: so many times a worker that holds some is stopped past its leases. */
  freezes: number;
}

/**
 * Above what a stopped process, a lost batch and a mark's deadline may cost together; and in all.
 */
const STILL_MS = 60_000;
const DRAIN_MS = 600_000;
const SUBMITTERS = 32;
/**
 * Submitted and not ended at any time: enough for all lanes to have something behind what is in
 * flight.
 */
const AHEAD_A_LANE = 20;
/** More come for a last kill that has nobody in hand any more. */
const MORE_A_KILL = 4;

/**
 * Kills spread over the run: the next one when its share of the batches is committed; one that
 * finds no victim is tried again later.
 */
const rampage = async (
  harness: Harness,
  servers: Servers,
  options: LaneChaos,
  freezer: Freezer,
): Promise<{ struck: Struck[]; batches: number }> => {
  const { batches, lanes, kills, stops, seed, log } = options;
  const plan = [...planKills(kills, seed, LANE_POINTS), ...planStops(stops)];
  const queue = plan.map((kill) => ({ kill, tries: 0 }));
  const struck: Struck[] = [];
  let committed = 0;
  let goal = batches;
  const pace = async (): Promise<void> => {
    const { rows } = await servers.store.query<{ n: number }>(
      'select count(*)::int as n from lane_batch where status >= 10',
    );
    committed = rows[0]!.n;
    harness.pace(0, Math.ceil(Math.min(goal, committed + lanes * AHEAD_A_LANE) / harness.submitters.length));
  };
  const pacer = setInterval(() => void pace().catch(() => undefined), 250);
  try {
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
      while (committed < (batches * struck.length) / (plan.length + 1)) await sleep(50);
      if (committed >= goal - lanes) goal += lanes * MORE_A_KILL;
      // With somebody stopped, the next stop would be a kill.
      while (struck.length >= kills && harness.someStandStill) await sleep(50);
      const armed = performance.now();
      const done = await harness.strike(entry.kill);
      if (done !== null) struck.push(done);
      else if (++entry.tries < 5) queue.push(entry);
      const { point, variant } = entry.kill;
      log(
        `${String(struck.length).padStart(4)} ${done === null ? 'missed' : done.how} ${point}/${variant} live ${done?.live ?? 0}, ${Math.round(performance.now() - armed)} ms; ${committed} committed`,
      );
    }
    // Work goes on to the last freeze.
    for (; harness.submitted() < goal || !freezer.isOver; await sleep(50))
      if (!freezer.isOver && committed >= goal - lanes) goal += lanes * MORE_A_KILL;
  } finally {
    clearInterval(pacer);
  }
  return { struck, batches: goal };
};

/** What the submitters confirmed, by their numbering (`submitter.ts`). */
const ackedIds = (acked: ReadonlyMap<string, number>, lanes: number): string[] => {
  const half = Math.ceil(lanes / 2);
  return [...acked].flatMap(([name, count]) => {
    const [first, own] = name === 'a' ? [0, half] : [half, lanes - half];
    return Array.from({ length: count }, (_, i) => `${serviceOf(first + (i % own))}-${Math.floor(i / own)}`);
  });
};

/**
 * `npm run test:chaos -- --scenario queuer`: true where nothing was inverted, lost, doubled or
 * stuck, and every kill was made.
 */
export const runLaneChaos = (options: LaneChaos): Promise<boolean> => {
  const { lanes, kills, stops, seed, partitions, freezes } = options;
  return inArena(LANES(lanes, partitions), options, async ({ servers, harness, client, runDir }) => {
    await client.setQueuer({ slots: SUBMITTERS, strategy: 'one-round' });
    const begun = performance.now();
    const freezer = new Freezer(harness, servers, { freezes: partitions > 0 ? freezes : 0, seed, log: options.log });
    const [{ struck, batches }] = await Promise.all([rampage(harness, servers, options, freezer), freezer.run()]);
    const drained = await harness.drain(STILL_MS, DRAIN_MS);
    const seconds = (performance.now() - begun) / 1_000;
    const frozen = struck.flatMap(({ how, marked }) => (how === 'stop' ? (marked ?? []) : []));
    const verdict = judge({
      ...(await readEvidence(servers.databaseUrl, runDir, ackedIds(harness.acked, lanes))),
      frozen,
    });
    const verified = await client.verify({ full: true });
    const outcome = outcomeOf({
      verdict,
      struck,
      verified,
      drained,
      batches,
      kills,
      stops,
      lanes,
      partitions,
      freezes: freezer.count,
      seed,
      crashes: harness.crashes(),
      seconds,
    });
    return { outcome, table: tableOf(outcome) };
  });
};
