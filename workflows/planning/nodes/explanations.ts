import type { Plan, PlannedPartition } from './plan';
import type { Limits } from './types';

const figure = (value: number): string => String(Math.round(value * 100) / 100);
const partitions = (count: number): string => (count === 1 ? '1 partition' : `${count} partitions`);

/**
 * Explains to operators why a partition is assigned, with the figures. The command line shows it as
 * the reason of the last move.
 */
export const explainAssign = (
  { counts, loads, nodes }: Plan,
  { facts, node }: PlannedPartition,
  by: Limits['by'],
): string => {
  const to = nodes[node]!.process.id;
  const why =
    facts.holder === null
      ? 'no node holds it'
      : facts.holder === to
        ? `the lease of ${facts.holder} ended and it may keep it`
        : `the lease of ${facts.holder} ended`;
  const load = by === 'weight' ? `, a load of ${figure(loads[node]!)}` : '';
  return `${facts.id} goes to ${to}: ${why}; ${to} then has ${partitions(counts[node]!)}${load}`;
};

/** Explains to operators why a holder is asked to give a partition up. */
export const explainRevoke = ({ nodes }: Plan, { facts, node, leaves, step }: PlannedPartition): string => {
  const to = nodes[node]!.process.id;
  const start = `${facts.id} is to go from ${facts.holder!} to ${to}`;
  switch (leaves) {
    case 'drain':
      return `${start}: ${facts.holder!} is being drained`;
    case 'attributes':
      return `${start}: ${facts.holder!} no longer has ${needed(facts)}`;
    case 'pinned':
      return `${start}: an operator pinned it there`;
    case null:
      break;
  }
  if (step === null) throw new Error(`${facts.id}: expected a reason for its revoke, got none`);
  const { from, to: least, end, reason } = step;
  const much = (value: number): string => (reason === 'load' ? `a load of ${figure(value)}` : partitions(value));
  const via = end === node ? '' : `, for which ${to} makes room`;
  // The figures of a chain are those of its ends: the fullest node need not be the one that gives
  // this partition.
  return `${start}: one node has ${much(from)}, ${nodes[end]!.process.id}${via} has ${much(least)}`;
};

const needed = ({ handler, attributes }: PlannedPartition['facts']): string => {
  const all = Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
  return [...(handler === null ? [] : [`handler ${handler}`]), ...all].join(', ');
};
