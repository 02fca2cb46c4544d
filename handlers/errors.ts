/**
 * What a handler's `submit` may throw. Anything else, and any timeout, is an unknown outcome of the
 * whole batch.
 */

/** The call was refused for its content; nothing of it was applied. The batch may be bisected. */
export class RejectedError extends Error {
  override readonly name = 'RejectedError';
}

/** The downstream asks to wait; nothing was applied, no attempt is counted. */
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
 * Nothing can succeed until an operator acts (an expired credential, a wrong URL): the handler is
 * paused with this reason; with scope `target` only the batch's target, where each target has its
 * own credential or address. Its tasks are as if they had not been sent.
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
