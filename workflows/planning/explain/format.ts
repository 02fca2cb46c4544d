export const because = (error: string | null): string => (error === null ? '' : `: ${error}`);

export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** How late a server fires a timer at most, if its dynamic configuration does not say else. */
const COARSE_MS = 1_000;

/**
 * Returns what to add to a wait by a timer that is shorter than a coarse timer is late: Postgres
 * knows when it is due, and not how the server keeps time.
 */
export const ifCoarse = (ms: number): string =>
  ms < COARSE_MS ? ` Where timers of Temporal are coarse (muster doctor), up to ${COARSE_MS / 1_000} s later.` : '';
