import type { Struck } from '../harness';
import type { Point } from '../points';
import { LANE_POINTS } from '../points';
import { countByPoint, haveShares } from '../shares';
import type { LaneVerdict } from './checker';

export interface LaneOutcome extends LaneVerdict {
  scenario: 'queuer';
  passed: boolean;
  seed: number;
  lanes: number;
  partitions: number;
  /** Stopped past its leases while it held partitions, and then not theirs any more. */
  freezes: number;
  kills: number;
  killsOf: Record<string, number>;
  stops: number;
  /** Of those: in the middle of a grant, and right before a call. */
  stopsInGrants: number;
  stopsBeforeCalls: number;
  crashes: number;
  drained: boolean;
  verified: unknown;
  seconds: number;
  batchesPerSecond: number;
}

export interface LaneFigures {
  verdict: LaneVerdict;
  struck: readonly Struck[];
  verified: { ok: boolean };
  drained: boolean;
  batches: number;
  kills: number;
  stops: number;
  lanes: number;
  partitions: number;
  freezes: number;
  seed: number;
  crashes: number;
  seconds: number;
}

export const outcomeOf = ({ verdict, struck, kills, stops, batches, ...rest }: LaneFigures): LaneOutcome => {
  const killsOf = countByPoint(struck);
  const stopped = struck.filter(({ how }) => how === 'stop');
  const stoppedAt = (point: Point): number => stopped.filter(({ kill }) => kill.point === point).length;
  const stopsBeforeCalls = stoppedAt('before-send');
  const stopsInGrants = stoppedAt('before-grant');
  const {
    lost,
    stuck,
    failed,
    inversions,
    doubleEffects,
    strangers,
    overlaps,
    staleCalls,
    staleAccepted,
    sharedEpochs,
    thawedSends,
  } = verdict;
  const clean =
    lost +
      stuck +
      failed +
      inversions +
      doubleEffects +
      strangers +
      overlaps +
      staleCalls +
      staleAccepted +
      sharedEpochs +
      thawedSends ===
    0;
  const enough =
    struck.length >= kills + stops &&
    haveShares(killsOf, kills, LANE_POINTS) &&
    Math.min(stopsBeforeCalls, stopsInGrants) >= Math.floor(stops / 2);
  return {
    scenario: 'queuer',
    passed: clean && enough && rest.drained && rest.verified.ok && rest.crashes === 0 && verdict.committed >= batches,
    ...rest,
    verified: rest.verified.ok ? 'ok' : rest.verified,
    kills: struck.length,
    killsOf,
    stops: stopped.length,
    stopsInGrants,
    stopsBeforeCalls,
    ...verdict,
    seconds: Math.round(rest.seconds),
    batchesPerSecond: Number((verdict.committed / rest.seconds).toFixed(1)),
  };
};

export const tableOf = (outcome: LaneOutcome): string => {
  const row = (name: string, value: unknown): string => `  ${name.padEnd(28)}${String(value).padStart(10)}`;
  return [
    outcome.passed ? 'passed' : 'FAILED',
    row('seed', outcome.seed),
    ...LANE_POINTS.map((point) => row(point, outcome.killsOf[point] ?? 0)),
    row('kills (of these stops)', `${outcome.kills} (${outcome.stops})`),
    row('stops in grants/before calls', `${outcome.stopsInGrants}/${outcome.stopsBeforeCalls}`),
    row('serial lanes', outcome.lanes),
    row('batches', outcome.batches),
    row('committed', outcome.committed),
    row('inversions', outcome.inversions),
    row('lost', outcome.lost),
    row('double effects', outcome.doubleEffects),
    row('stuck', outcome.stuck),
    row('failed', outcome.failed),
    row('strangers', outcome.strangers),
    row('overlaps', outcome.overlaps),
    row('stale calls', outcome.staleCalls),
    row('partitions / freezes', `${outcome.partitions}/${outcome.freezes}`),
    row('refused by epoch', outcome.refusedCalls),
    row('stale epochs accepted', outcome.staleAccepted),
    row('epochs of two workers', outcome.sharedEpochs),
    row('frozen / sent when thawed', `${outcome.frozen}/${outcome.thawedSends}`),
    row('calls / distinct', `${outcome.calls}/${outcome.distinctCalls}`),
    row('ended by themselves', outcome.crashes),
    row('verify', outcome.verified === 'ok' ? 'ok' : 'VIOLATED'),
    row('seconds', outcome.seconds),
    row('batches a second', outcome.batchesPerSecond),
    ...outcome.findings.map((finding) => `  ! ${finding}`),
  ].join('\n');
};
