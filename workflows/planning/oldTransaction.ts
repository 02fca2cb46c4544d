/**
 * When a transaction that stays open counts as forgotten, which keeps dead rows in the queues: the
 * same for the dashboard, `muster doctor` and the alert. Pure.
 */

/** In seconds. A dump of the database may take as long, and does no harm once. */
const OLD_SECONDS = 3_600;
/** The same where its age is hidden, in transactions that have begun since. */
const OLD_TRANSACTIONS = 1_000_000;

export const isOldTransaction = (seconds: number | null, transactions: number): boolean =>
  seconds === null ? transactions >= OLD_TRANSACTIONS : seconds >= OLD_SECONDS;
