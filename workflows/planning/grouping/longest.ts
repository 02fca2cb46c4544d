import { DAY_MS } from '../duration';

/** Longest linger and quiet period: 30 days. Meanwhile a leader looks once a day at most. */
export const MAX_LINGER_MS = 30 * DAY_MS;
