import { DAY_MS } from '../duration';

/** Longest linger and quiet period: 30 days. A leader looks at least once a day all the same. */
export const MAX_LINGER_MS = 30 * DAY_MS;
