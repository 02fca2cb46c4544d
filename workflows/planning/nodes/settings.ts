/** The time settings of nodes, in milliseconds. */
export interface TimeSettings {
  /** How long a lease of a partition lasts without a renewal. */
  leaseMs: number;
  /** The longest lease that a node may request. */
  maxLeaseMs: number;
  /** How long a node may take to give up a revoked partition. */
  shutdownLimitMs: number;
  /** How long a partition that has moved stays where it is, as far as evenness is concerned. */
  minimumHoldMs: number;
  /** How often a lease is renewed. */
  renewEveryMs: number;
  /** How long a missing node keeps its partitions; 0: it does not keep them. */
  restartGraceMs: number;
  /** How often the assignor looks. */
  roundEveryMs?: number;
}

type Name = keyof TimeSettings;

/** A lease outlasts two failed renewals. */
const RENEWALS_PER_LEASE = 3;
/** A move is settled within four rounds, and they must fit into one lease. */
const ROUNDS_PER_LEASE = 4;
/** The longest lease must be at least this many times the usual one. */
const MAX_LEASES = 2;

/**
 * Returns the problems of the time settings, or an empty list. Each message names the setting, what
 * was expected and what was given. Relations between settings are checked only if all settings are
 * valid numbers.
 */
export const settingsProblems = (settings: TimeSettings): string[] => {
  const given = (Object.entries(settings) as [Name, number | undefined][]).filter(([, ms]) => ms !== undefined);
  const wrong = given.flatMap(([name, ms]) => numberProblem(name, ms!));
  if (wrong.length > 0) return wrong;
  const { leaseMs, roundEveryMs } = settings;
  return [
    atLeast(
      settings,
      'maxLeaseMs',
      MAX_LEASES * leaseMs,
      `${MAX_LEASES} times leaseMs (${leaseMs})`,
      'raise it or shorten leaseMs',
    ),
    atMost(
      settings,
      'renewEveryMs',
      leaseMs / RENEWALS_PER_LEASE,
      `a third of leaseMs (${leaseMs}), so that two renewals may fail`,
      'renew more often or lengthen leaseMs',
    ),
    below(settings, 'shutdownLimitMs', 'or the lease ends before the partition is given up'),
    below(settings, 'minimumHoldMs', 'or a node that joins stays empty for longer than a lease'),
    atMost(
      settings,
      'restartGraceMs',
      settings.maxLeaseMs,
      `maxLeaseMs (${settings.maxLeaseMs})`,
      'no node serves what a missing node had; drain a node that is away for longer',
    ),
    roundEveryMs === undefined
      ? null
      : atMost(
          settings,
          'roundEveryMs',
          leaseMs / ROUNDS_PER_LEASE,
          `a quarter of leaseMs (${leaseMs}), since nodes are even after four rounds`,
          'look more often or lengthen leaseMs',
        ),
  ].filter((problem) => problem !== null);
};

/** Settings that may be 0. */
const MAY_BE_0: readonly Name[] = ['minimumHoldMs', 'restartGraceMs'];

const numberProblem = (name: Name, ms: number): string[] => {
  const least = MAY_BE_0.includes(name) ? 0 : 1;
  if (Number.isInteger(ms) && ms >= least) return [];
  return [`${name}: expected a whole number of milliseconds of at least ${least}, got ${ms}`];
};

const atLeast = (settings: TimeSettings, name: Name, least: number, said: string, remedy: string): string | null =>
  settings[name]! >= least ? null : `${name}: expected at least ${said}, got ${settings[name]}; ${remedy}`;

const atMost = (settings: TimeSettings, name: Name, most: number, said: string, remedy: string): string | null =>
  settings[name]! <= most ? null : `${name}: expected at most ${said}, got ${settings[name]}; ${remedy}`;

const below = (settings: TimeSettings, name: Name, why: string): string | null =>
  settings[name]! < settings.leaseMs
    ? null
    : `${name}: expected less than leaseMs (${settings.leaseMs}), got ${settings[name]}; ${why}`;
