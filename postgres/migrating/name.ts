/**
 * The form of a migration's name, which is all that a program finds in the database about a
 * migration that it does not know. `000013_due_index` is additive: every older program runs on the
 * tables that it leaves. `000015_drop_due.needs_000014` is not: only programs that know migration
 * 000014 may touch the tables after it.
 */
const NAME = /^(\d{6})_\w+?(?:\.needs_(\d{6}))?$/;

export interface MigrationName {
  number: number;
  /**
   * The newest migration that a program must know to run on the tables after this one; null: it is
   * additive.
   */
  needs: number | null;
}

/** Returns null for a name of another form. */
export const parseMigrationName = (name: string): MigrationName | null => {
  const [, number, needs] = NAME.exec(name) ?? [];
  return number === undefined ? null : { number: Number(number), needs: needs === undefined ? null : Number(needs) };
};

export interface UnknownMigrations {
  /** Applied, unknown to this program, and compatible with it. */
  compatible: string[];
  /**
   * Applied, and this program is too old for it; also names of an unknown form, which may say so in
   * another way.
   */
  breaking: string[];
}

/** Sorts applied but unknown migrations by whether a program that knows `known` may run on them. */
export const unknownMigrations = (applied: readonly string[], known: readonly string[]): UnknownMigrations => {
  const newest = Math.max(0, ...known.map((name) => parseMigrationName(name)?.number ?? 0));
  const unknown = applied.filter((name) => !known.includes(name)).sort();
  const isBreaking = (name: string): boolean => {
    const parsed = parseMigrationName(name);
    return parsed === null || (parsed.needs !== null && parsed.needs > newest);
  };
  return {
    compatible: unknown.filter((name) => !isBreaking(name)),
    breaking: unknown.filter(isBreaking),
  };
};
