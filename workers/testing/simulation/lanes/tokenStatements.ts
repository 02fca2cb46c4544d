import { UNLIMITED_CALLS } from '../../../../workflows/planning/lanes/tokens';
import { STATUSES } from '../../../../workflows/planning/lanes/statuses';
import { APPROACHES, LANE_KINDS, ON_INVALID } from '../../../../workflows/planning/lanes/types';
import type { Statement } from '../statement';
import { NO_ROWS } from '../statement';
import type { Tables } from '../tables';
import { laneOf } from './laneTables';
import type { Allowance } from './laneTables';
import type { LaneRow } from '../rows';

/** What the statements about limits and back pressure in lanes do to a simulated store. */

const isUsed = (status: number): boolean => status >= STATUSES.unknown && status <= STATUSES.valid;

export const callsInFlight = ({ lanes }: Tables): number => {
  let calls = 0;
  for (const { open } of lanes.all) for (const { inLane } of open) if (inLane!.status === STATUSES.submitted) calls++;
  return calls;
};

const limited = (calls: number): number | null => (calls === UNLIMITED_CALLS ? null : calls);
/** `least` of Postgres, which passes over nulls. */
const least = (...all: (number | null)[]): number | null => {
  const given = all.filter((one) => one !== null);
  return given.length === 0 ? null : Math.min(...given);
};

const readTokens: Statement = (tables, [, ids], { concurrency, limits, rates }) => {
  const used = new Map<number, { calls: number; weight: number }>();
  const all = { calls: 0, weight: 0 };
  for (const { open } of tables.lanes.all)
    for (const { inLane, target, weight } of open) {
      if (!isUsed(inLane!.status)) continue;
      const of = used.get(target.id) ?? { calls: 0, weight: 0 };
      used.set(target.id, of);
      for (const sum of [of, all]) {
        sum.calls += Number(inLane!.status === STATUSES.submitted);
        sum.weight += weight;
      }
    }
  const { perTarget = null, perHandler = null } = limits.maxWeightInFlight;
  const calls = { perTarget: limited(concurrency.perTarget), perHandler: limited(concurrency.perHandler) };
  return [
    {
      ...{ id: 1, ...calls, perHandler: least(calls.perHandler, tables.handler.allowed) },
      ...{ weightPerTarget: perTarget, weightPerHandler: perHandler, rates, paces: tables.handler.paces, ...all },
      targets: (ids as number[]).map((id) => {
        const { paces, allowed } = tables.targetOf(id);
        return { id, paces, allowed, ...(used.get(id) ?? { calls: 0, weight: 0 }) };
      }),
    },
  ];
};

const halve = (row: Allowance, from: number, reductions: unknown): void => {
  if (row.reductions !== reductions) return;
  row.allowed = Math.max(1, Math.floor((row.allowed ?? from) / 2));
  row.reductions++;
};

const sendsOneByOne = ({ kind, approach, onInvalid }: LaneRow): boolean =>
  onInvalid === ON_INVALID.halt || (approach === APPROACHES.serial && kind === LANE_KINDS['non-guaranteed']);

/** Gives one call back, until as many are allowed as without back pressure: no limit then. */
const recover = (row: Allowance, reductions: unknown, full: number): void => {
  if (row.allowed === null || row.reductions !== reductions) return;
  row.allowed = row.allowed + 1 < full ? row.allowed + 1 : null;
};

const writePaces =
  (write: (tables: Tables, id: number, paces: number[]) => void): Statement =>
  (tables, [json]) => {
    for (const { id, paces } of JSON.parse(json as string) as { id: number; paces: number[] }[])
      write(tables, id, paces);
    return NO_ROWS;
  };

export const TOKENS: Readonly<Record<string, Statement>> = {
  'read-tokens': readTokens,
  // What `read-tokens` has left out: nothing.
  'read-paces': () => NO_ROWS,
  'write-handler-paces': writePaces(({ handler }, _, paces) => void (handler.paces = paces)),
  'write-target-paces': writePaces((tables, id, paces) => void (tables.targetOf(id).paces = paces)),
  'hold-handler': (tables, [, inMs, reductions], { ordered, concurrency }) => {
    const { handler, nowMs } = tables;
    handler.holdMs = Math.max(handler.holdMs ?? 0, nowMs + (inMs as number));
    if (ordered) halve(handler, Math.min(concurrency.perHandler, tables.lanes.queuer.slots), reductions);
    return NO_ROWS;
  },
  'reduce-target-in-lane': (tables, [id, reductions], { concurrency }) => {
    const target = tables.targetOf(id as number);
    const { perTarget, perHandler } = concurrency;
    if (!sendsOneByOne(laneOf(target)))
      halve(target, Math.min(perTarget, perHandler, tables.lanes.queuer.slots), reductions);
    return NO_ROWS;
  },
  'recover-target': (tables, [id, reductions], { concurrency }) => {
    recover(tables.targetOf(id as number), reductions, Math.min(concurrency.perTarget, tables.lanes.queuer.slots));
    return NO_ROWS;
  },
  'recover-handler': (tables, [, reductions], { concurrency }) => {
    recover(tables.handler, reductions, Math.min(concurrency.perHandler, tables.lanes.queuer.slots));
    return NO_ROWS;
  },
};
