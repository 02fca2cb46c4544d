import { MusterError } from '../errors';

/** A problem with one id of a call. */
export interface ItemProblem {
  id: string;
  code: 'MALFORMED_ID' | 'UNKNOWN_FANOUT' | 'FANOUT_EXPIRED' | 'FANOUT_COMPLETE' | 'UNKNOWN_SEGMENT' | 'INDEX_PAST_END';
  message: string;
}

/**
 * Some ids of a call name no item, or an item that can no longer change. Nothing of that portion of
 * the call was applied.
 */
export class InvalidItemError extends MusterError {
  constructor(
    readonly problems: readonly ItemProblem[],
    /**
     * Number of items that earlier portions of the same call have changed. They stay changed, and
     * repeating the call is harmless.
     */
    readonly applied = 0,
  ) {
    const shown = problems.slice(0, 5).map(({ id, message }) => `item ${JSON.stringify(id.slice(0, 80))}: ${message}`);
    const more = problems.length > 5 ? `\n  and ${problems.length - 5} more` : '';
    const before =
      applied === 0 ? 'Nothing was changed' : `${applied} items of earlier portions were changed, none of this portion`;
    super('INVALID_ITEM', `${before}:\n  ${shown.join('\n  ')}${more}`);
  }
}

const STATE_CODES = { sealed: 'FANOUT_SEALED', complete: 'FANOUT_COMPLETE', expired: 'FANOUT_EXPIRED' } as const;

/**
 * The state of the fan-out does not allow the operation, such as an add after the seal, or a seal
 * after it has expired.
 */
export class FanoutStateError extends MusterError {
  constructor(
    readonly fanout: string,
    readonly state: 'sealed' | 'complete' | 'expired',
    expected: string,
    remedy: string,
  ) {
    super(STATE_CODES[state], `fan-out ${fanout}: expected ${expected}, got ${state}. ${remedy}`);
  }
}

/** `waitForFanout` timed out. The fan-out continues. */
export class FanoutTimeoutError extends MusterError {
  constructor(
    readonly fanout: string,
    readonly timeoutMs: number,
    state: string,
    openSegments: number,
  ) {
    super(
      'TIMEOUT',
      `waitForFanout: ${fanout} is ${state} with ${openSegments} open segments after ${timeoutMs} ms. It continues; wait again.`,
    );
  }
}
