/** What became of a callback that was tried and not delivered. */
export const CALLBACK_STATES = ['retrying', 'given-up'] as const;
export type CallbackState = (typeof CALLBACK_STATES)[number];
