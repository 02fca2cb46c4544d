import { batches } from '../invariants/batches';
import { dependencies } from '../invariants/dependencies';
import { executions } from '../invariants/executions';
import { fanouts } from '../invariants/fanouts';
import { flow } from '../invariants/flow';
import { identity } from '../invariants/identity';
import type { Invariant } from '../invariants/invariant';
import { keys, notifications } from '../invariants/keys';
import { labels } from '../invariants/labels';
import { lanes } from '../invariants/lanes';
import { leases } from '../invariants/leases';
import { places } from '../invariants/places';
import { stalled } from '../invariants/stalled';
import type { Client, Pool } from '../pool';
import type { Windows } from './sample';
import { cutWindows, ONLY_BY_INDEX } from './sample';
import { inSnapshot } from '../snapshot';

export const INVARIANTS: readonly Invariant[] = [
  ...places,
  ...identity,
  ...batches,
  ...flow,
  ...dependencies,
  ...leases,
  ...keys,
  ...labels,
  ...notifications,
  ...lanes,
  ...executions,
  ...fanouts,
  ...stalled,
];

export interface VerifyOptions {
  /** Number of rows of each table to check, roughly; null: all. */
  rows: number | null;
}

export interface Check {
  name: string;
  violations: object[];
  /** The table of which only a part was checked, and how much of it; null: nothing was left out. */
  looked: { table: string; rows: number; of: number } | null;
}

/**
 * Longer than a ring or a settlement takes, and short for the operator who waits for the answer.
 */
const SECOND_LOOK_MS = 1_500;

/**
 * Checks all invariants in one snapshot. Those that a running system breaks in passing are checked
 * twice, and only what is broken both times counts.
 */
export const verifyStore = async (pool: Pool, { rows }: VerifyOptions = { rows: null }): Promise<Check[]> => {
  const windows = new Map<string, Windows>();
  const look = new Look(rows, windows);
  const checks = await inSnapshot(pool, (db) => look.findAll(db, INVARIANTS));
  const broken = new Set(checks.filter(({ violations }) => violations.length > 0).map(({ name }) => name));
  const again = INVARIANTS.filter(({ name, passing }) => passing === true && broken.has(name));
  if (again.length === 0) return checks;
  await new Promise((resolve) => setTimeout(resolve, SECOND_LOOK_MS));
  const second = new Map((await inSnapshot(pool, (db) => look.findAll(db, again))).map((check) => [check.name, check]));
  return checks.map((check) => {
    const other = second.get(check.name);
    if (other === undefined) return check;
    const seen = new Set(check.violations.map((row) => JSON.stringify(row)));
    return { ...check, violations: other.violations.filter((row) => seen.has(JSON.stringify(row))) };
  });
};

/** One verification: both of its looks read the same windows. */
class Look {
  constructor(
    private readonly rows: number | null,
    private readonly windows: Map<string, Windows>,
  ) {}

  async findAll(db: Client, invariants: readonly Invariant[]): Promise<Check[]> {
    if (this.rows !== null) await db.query(ONLY_BY_INDEX);
    const checks: Check[] = [];
    for (const one of invariants) checks.push({ name: one.name, ...(await this.find(db, one)) });
    return checks;
  }

  private async find(db: Client, { text, sample }: Invariant): Promise<Omit<Check, 'name'>> {
    const windows = sample === undefined || this.rows === null ? null : await this.windowsOf(db, sample.of, this.rows);
    // Not prepared by name: plans must fit the present data, and the session goes back to the pool.
    if (sample === undefined || windows === null || windows.isWhole)
      return { violations: (await db.query<object>({ text })).rows, looked: null };
    const { table, from, to, rows, of } = windows;
    if (sample.text === null) return { violations: [], looked: { table, rows: 0, of } };
    const values = [from, to, rows];
    return { violations: (await db.query<object>({ text: sample.text, values })).rows, looked: { table, rows, of } };
  }

  private async windowsOf(db: Client, of: NonNullable<Invariant['sample']>['of'], rows: number): Promise<Windows> {
    const known = this.windows.get(of) ?? (await cutWindows(db, of, rows));
    this.windows.set(of, known);
    return known;
  }
}
