/**
 * What a handler's `submit` may throw (H2). Anything else, and any timeout, is an unknown outcome
 * of the whole batch.
 */

/**
 * The call was refused for its content; nothing of it was applied. The batch may be bisected (H4).
 */
export class RejectedError extends Error {
  override readonly name = 'RejectedError';
}

/** The downstream asks to wait; nothing was applied, no attempt is counted (H5). */
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
 * Nothing can succeed until somebody acts (an expired credential, a wrong URL): the handler is
 * paused with this reason (H4); with scope `target` only the batch's target, where a credential or
 * an address is one of its own. Its tasks are as if they had not been sent.
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
