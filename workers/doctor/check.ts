/** Most names of one kind that a line has. */
const NAMED_MOST = 10;

/** Returns names as a line has them: the first, and how many more there are. */
export const listed = (all: readonly string[]): string =>
  all.length > NAMED_MOST
    ? `${all.slice(0, NAMED_MOST).join(', ')} and ${all.length - NAMED_MOST} more`
    : all.join(', ');

/** What one look found. */
export interface Check {
  name: string;
  /** `warning`: it works, but not as it should. */
  state: 'ok' | 'warning' | 'failed';
  says: string;
  /** What to do; null: nothing. */
  remedy: string | null;
}

export const ok = (name: string, says: string): Check => ({ name, state: 'ok', says, remedy: null });
export const warning = (name: string, says: string, remedy: string): Check => ({
  name,
  state: 'warning',
  says,
  remedy,
});
export const failed = (name: string, says: string, remedy: string): Check => ({ name, state: 'failed', says, remedy });

/** Makes a failed check of an error, whose message has the remedy in it. */
export const failedBy = (name: string, error: unknown): Check => ({
  name,
  state: 'failed',
  says: error instanceof Error ? error.message : String(error),
  remedy: null,
});

/** Runs a look; an error of it is a failed check. */
export const look = async (name: string, work: () => Promise<Check>): Promise<Check> => {
  try {
    return await work();
  } catch (error) {
    return failedBy(name, error);
  }
};
