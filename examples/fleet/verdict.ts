import Table from 'cli-table3';
import type { Account } from './book';
import type { Change, Scene } from './scenes';

/**
 * What the gate accepted and must not have: an older epoch after a newer one of that partition, or
 * of who did not hold it under that epoch.
 */
export const staleOf = (
  writes: Account['writes'],
  holderOf: (partition: string, epoch: number) => string | null,
): Account['writes'] => {
  const highest = new Map<string, number>();
  return writes.filter(({ partition, epoch, node }) => {
    const before = highest.get(partition) ?? 0;
    highest.set(partition, Math.max(before, epoch));
    const holder = holderOf(partition, epoch);
    return epoch < before || (holder !== null && holder !== node);
  });
};

export interface Result {
  nodes: number;
  partitions: number;
  seconds: number;
  scenes: Record<Scene, number>;
  changes: Change[];
  moves: number;
  fewest: number;
  submitted: number;
  /** Of the store, and what the gate processed. */
  succeeded: number;
  processed: number;
  twice: number;
  repeats: number;
  staleRefused: number;
  staleAccepted: number;
  leaseMs: number;
  /**
   * Longest time until partitions stood evenly again: after a node joined (B14), after one was
   * killed or stopped (B16).
   */
  evenAfterJoinMs: number;
  evenAfterLossMs: number;
  longestFreeMs: number;
  longestUnservedMs: number;
  isAccounted: boolean;
  isWhole: boolean;
}

/** Of all changes of that kind the one that took longest to be even again; 0: there was none. */
export const longestOf = (changes: readonly Change[], kind: Change['kind']): number =>
  Math.max(0, ...changes.filter((one) => one.kind === kind).map(({ settledMs }) => settledMs));

/** Each invariant by its words, with whether it holds. */
export const invariantsOf = (result: Result): [words: string, holds: boolean][] => [
  ['after each change partitions were even within 30 s', result.changes.every(({ settled }) => settled)],
  ['no more moved than had to', result.moves === result.fewest],
  ['no task was processed twice', result.twice === 0],
  ['no stale write was accepted', result.staleAccepted === 0],
  ['every task is accounted for', result.isAccounted],
  ['the store is whole', result.isWhole],
];

export const isGood = (result: Result): boolean => invariantsOf(result).every(([, holds]) => holds);

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

export const describe = (result: Result): string => {
  const changes = new Table({
    head: ['change', 'moved', 'had to', 'even after'],
    style: { head: [], border: [], compact: true },
  });
  for (const { what, moves, fewest, settledMs, settled } of result.changes)
    changes.push([what, moves, fewest, settled ? seconds(settledMs) : 'never']);
  const sums = new Table({ style: { head: [], border: [], compact: true } });
  sums.push(
    ['nodes, partitions, time', `${result.nodes}, ${result.partitions}, ${result.seconds} s`],
    ['moves, theoretical minimum', `${result.moves}, ${result.fewest}`],
    ['tasks submitted, succeeded, processed', `${result.submitted}, ${result.succeeded}, ${result.processed}`],
    ['tasks processed twice', String(result.twice)],
    ['calls repeated under their key', String(result.repeats)],
    ['stale writes refused by the gate', String(result.staleRefused)],
    ['stale writes accepted', String(result.staleAccepted)],
    [`longest until even, of leases of ${seconds(result.leaseMs)}: a node joined`, seconds(result.evenAfterJoinMs)],
    ['                                  a node was killed or stopped', seconds(result.evenAfterLossMs)],
    ['longest time a partition had no holder', seconds(result.longestFreeMs)],
    ['longest time its holder was dead or stopped, or it had none', seconds(result.longestUnservedMs)],
  );
  const verdicts = invariantsOf(result).map(([words, holds]) => `${holds ? 'ok  ' : 'NOT '} ${words}`);
  return [changes.toString(), sums.toString(), ...verdicts].join('\n');
};
