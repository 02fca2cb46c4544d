import { shuffled } from '../random';

/** Which faults a run has, in which order and how long: all from its seed. Pure. */

interface Kind {
  /** How many of it are in each round of the plan. */
  share: number;
  /** Shortest and longest, in ms. */
  forMs: readonly [number, number];
  /** Fewest and most of what it strikes. */
  times?: readonly [number, number];
}

/** Faults by what they strike. */
export const KINDS = {
  // Worker processes.
  kill: { share: 12, forMs: [100, 1_000], times: [4, 12] },
  'kill-all': { share: 1, forMs: [500, 4_000] },
  stop: { share: 4, forMs: [1_000, 25_000], times: [1, 2] },
  clock: { share: 1, forMs: [5_000, 10_000] },
  starved: { share: 1, forMs: [5_000, 15_000], times: [4, 16] },
  'builds-mixed': { share: 1, forMs: [1_000, 10_000], times: [1, 3] },
  // Connections to Postgres.
  reset: { share: 1, forMs: [100, 2_000], times: [1, 4] },
  refused: { share: 1, forMs: [1_000, 10_000] },
  stalled: { share: 1, forMs: [1_000, 20_000] },
  delayed: { share: 1, forMs: [5_000, 15_000], times: [20, 300] },
  'half-open': { share: 1, forMs: [100, 1_000] },
  'answers-lost': { share: 1, forMs: [100, 1_000] },
  'cut-at-commit': { share: 2, forMs: [500, 2_000], times: [1, 4] },
  // Postgres.
  'sessions-ended': { share: 1, forMs: [100, 1_000], times: [1, 4] },
  'postgres-killed': { share: 1, forMs: [200, 5_000] },
  'read-only': { share: 1, forMs: [1_000, 10_000] },
  'tables-locked': { share: 1, forMs: [1_000, 15_000] },
  'no-connections': { share: 1, forMs: [2_000, 10_000] },
  'tables-full': { share: 1, forMs: [1_000, 10_000] },
  'disk-full': { share: 1, forMs: [1_000, 10_000] },
  snapshot: { share: 1, forMs: [10_000, 30_000] },
  // Temporal.
  'temporal-stopped': { share: 1, forMs: [1_000, 25_000] },
  'temporal-killed': { share: 1, forMs: [500, 10_000] },
  'temporal-emptied': { share: 1, forMs: [500, 3_000] },
  'namespace-deleted': { share: 1, forMs: [500, 3_000] },
  'runs-terminated': { share: 1, forMs: [100, 500], times: [1, 6] },
  'runs-cancelled': { share: 1, forMs: [100, 500], times: [1, 6] },
  'runs-reset': { share: 1, forMs: [100, 500], times: [1, 6] },
} as const satisfies Record<string, Kind>;
export type FaultKind = keyof typeof KINDS;
export const FAULT_KINDS = Object.keys(KINDS) as FaultKind[];

export interface PlannedFault {
  kind: FaultKind;
  forMs: number;
  times: number;
}

/** Endless; each round has every chosen kind, those with a larger share more often. */
export function* planFaults(random: () => number, only: readonly FaultKind[]): Generator<PlannedFault, never> {
  const within = ([least, most]: readonly [number, number]): number =>
    least + Math.floor(random() * (most - least + 1));
  for (;;)
    for (const kind of shuffled(
      only.flatMap((one) => Array<FaultKind>(KINDS[one].share).fill(one)),
      random,
    )) {
      const { forMs, times = [1, 1] }: Kind = KINDS[kind];
      yield { kind, forMs: within(forMs), times: within(times) };
    }
}
