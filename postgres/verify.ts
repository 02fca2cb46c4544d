import { batches } from './invariants/batches';
import { executions } from './invariants/executions';
import { fanouts } from './invariants/fanouts';
import { flow } from './invariants/flow';
import type { Invariant } from './invariants/invariant';
import { keys, notices } from './invariants/keys';
import { lanes } from './invariants/lanes';
import { places } from './invariants/places';
import type { Pool, Queryable } from './pool';
import { inSnapshot } from './snapshot';

export const INVARIANTS: readonly Invariant[] = [
  ...places,
  ...batches,
  ...flow,
  ...keys,
  ...notices,
  ...lanes,
  ...executions,
  ...fanouts,
];

export interface Check {
  name: string;
  violations: object[];
}

/** Longer than a ring or a settlement takes, short for whoever waits for the answer. */
const SECOND_LOOK_MS = 1_500;

/** All invariants in one snapshot; those that a running system breaks in passing once more, and only what is broken both times counts. */
export const verifyStore = async (pool: Pool): Promise<Check[]> => {
  const checks = await inSnapshot(pool, (db) => findAll(db, INVARIANTS));
  const broken = new Set(checks.filter(({ violations }) => violations.length > 0).map(({ name }) => name));
  const again = INVARIANTS.filter(({ name, passing }) => passing === true && broken.has(name));
  if (again.length === 0) return checks;
  await new Promise((resolve) => setTimeout(resolve, SECOND_LOOK_MS));
  const second = new Map((await inSnapshot(pool, (db) => findAll(db, again))).map((check) => [check.name, check]));
  return checks.map((check) => {
    const other = second.get(check.name);
    if (other === undefined) return check;
    const seen = new Set(check.violations.map((row) => JSON.stringify(row)));
    return { ...check, violations: other.violations.filter((row) => seen.has(JSON.stringify(row))) };
  });
};

const findAll = async (db: Queryable, invariants: readonly Invariant[]): Promise<Check[]> => {
  const checks: Check[] = [];
  for (const { name, text } of invariants) {
    // Not prepared by name: plans must fit the data of this moment, and the session goes back to the pool.
    const { rows } = await db.query({ text });
    checks.push({ name, violations: rows });
  }
  return checks;
};
