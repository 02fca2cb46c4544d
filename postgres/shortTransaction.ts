/**
 * Begins a turn's transaction. A process that is stopped between two of its statements holds its
 * rows (a leader's, a handler's, a queuer's, leases of partitions), so the server ends its session
 * after this long. The pauses within a turn are milliseconds, and a turn that was ended is taken
 * again.
 */
export const BEGIN_SHORT = `begin; set local idle_in_transaction_session_timeout = '4s'`;
