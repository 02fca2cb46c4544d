import type { Round } from './truth';

/** What `status` named as stalled for the longest: one of many leaders, perhaps. */
export interface Stalled {
  kind: string;
  name: string;
  ms: number;
}

/** Returns it; null: nothing was named. Pure. */
export const longestStalled = (rounds: readonly Pick<Round, 'seen'>[]): Stalled | null => {
  let longest: Stalled | null = null;
  for (const { seen } of rounds)
    for (const { naming } of Object.values(seen)) {
      if (naming.status?.startsWith('{') !== true) continue; // or it speaks of partitions
      const { kind, name, ms } = JSON.parse(naming.status) as Stalled;
      if (ms > (longest?.ms ?? 0)) longest = { kind, name, ms };
    }
  return longest;
};
