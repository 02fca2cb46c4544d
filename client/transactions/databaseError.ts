/** An error of Postgres, as a library passes it on: its own, or one that it wraps. */
interface Wrapped {
  code?: unknown;
  severity?: unknown;
  message?: unknown;
  cause?: unknown;
  meta?: { code?: unknown; message?: unknown; driverAdapterError?: unknown };
  originalCode?: unknown;
  originalMessage?: unknown;
}

const DEPTH = 4;

/**
 * Returns the error of Postgres that a library has wrapped, as the driver `pg` would have thrown
 * it: with its SQLSTATE as `code`. Any other error is returned as it is.
 */
export const databaseErrorOf = (thrown: unknown): unknown => {
  let error = thrown as Wrapped | null | undefined;
  for (let depth = 0; depth < DEPTH && typeof error === 'object' && error !== null; depth++) {
    if (typeof error.severity === 'string' && typeof error.code === 'string') return error;
    const code = error.originalCode ?? error.meta?.code;
    if (typeof code === 'string') {
      const message = String(error.originalMessage ?? error.meta?.message ?? error.message);
      return Object.assign(new Error(message, { cause: thrown }), { code, severity: 'ERROR' });
    }
    error = (error.meta?.driverAdapterError ?? error.cause) as Wrapped | undefined;
  }
  return thrown;
};
