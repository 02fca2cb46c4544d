/**
 * Returns how often something is tried: `short` in `npm test`, `long` in `npm run test:long`, which
 * sets MUSTER_TEST_LONG. Where chance decides whether a try meets a defect, the long form has the
 * tries that found it; the short form has enough for a defect that is there most of the time.
 */
export const rounds = (short: number, long: number): number =>
  process.env['MUSTER_TEST_LONG'] === undefined ? short : long;

/** Returns `short` in `npm test`, and `more` in what CI runs, where minutes matter less. */
export const inCi = <T>(short: T, more: T): T =>
  process.env['MUSTER_TEST_SLOW'] === undefined && process.env['MUSTER_TEST_LONG'] === undefined ? short : more;
