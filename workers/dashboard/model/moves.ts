import type { NodeView, PartitionView } from '../../../workflows/contracts/node';

/** Where partitions go. */

/** Says whether it is to change its holder. */
export const isMoving = ({ holder, wantedBy }: Pick<PartitionView, 'holder' | 'wantedBy'>): boolean =>
  wantedBy !== null && wantedBy !== holder;

const MOST_SHOWN = 10;
const movedAt = ({ lastMove }: Pick<PartitionView, 'lastMove'>): number => Date.parse(lastMove?.at ?? '') || 0;
const rankOf = (one: PartitionView): number => (isMoving(one) ? 0 : one.pinnedTo === null ? 2 : 1);

/** Returns those that change their holder, then those that are pinned, then the newest moves. */
export const movesOf = (partitions: readonly PartitionView[]): PartitionView[] =>
  partitions
    .filter((one) => rankOf(one) < 2 || one.lastMove !== null)
    .sort((a, b) => rankOf(a) - rankOf(b) || movedAt(b) - movedAt(a))
    .slice(0, MOST_SHOWN);

/** Returns the nodes that can hold partitions of a handler: what an operator chooses from. */
export const choicesOf = (nodes: readonly NodeView[], handler: string): (readonly [id: string, name: string])[] =>
  nodes
    .filter((one) => one.alive && !one.draining && one.handlers.includes(handler))
    .map(({ id, name }) => [id, name === null ? id : `${name} (${id})`]);
