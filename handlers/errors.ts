/**
 * The errors by which a handler's `submit` declares an outcome. Any other error, and any timeout,
 * is an unknown outcome of the whole batch.
 */

/**
 * The call was refused for its content, and nothing of it was applied. The batch is bisected if the
 * handler says so.
 */
export class RejectedError extends Error {
  override readonly name = 'RejectedError';
}

/**
 * The downstream asks to wait. Nothing was applied, and no attempt is counted. `retryAfterMs`: how
 * many milliseconds; default: the handler's backoff. `scope`: what waits; default `target`.
 */
export class LaterError extends Error {
  override readonly name = 'LaterError';
  constructor(
    message: string,
    readonly options: { retryAfterMs?: number; scope?: 'target' | 'handler' } = {},
  ) {
    super(message);
  }
}

/**
 * Nothing can succeed until an operator acts (an expired credential, a wrong URL). The handler is
 * paused with this reason, or with scope `target` only the batch's target, for handlers with a
 * credential or address per target. The tasks count as not sent.
 */
export class HaltError extends Error {
  override readonly name = 'HaltError';
  constructor(
    message?: string,
    readonly options: { scope?: 'target' | 'handler' } = {},
  ) {
    super(message);
  }
}
