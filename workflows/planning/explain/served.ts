import { formatDuration } from '../duration';
import { count } from './format';
import type { Explanation, ServedBy } from './facts';

/**
 * Explains which node serves a task whose handler has affinity, or why none does. Pure;
 * milliseconds of the database's clock.
 */

export interface ServedFacts {
  handler: string;
  /** `<handler>/<no>`. */
  partition: string;
  holder: string | null;
  holderName: string | null;
  epoch: number;
  heldMs: number;
  leftMs: number;
  revokedMs: number | null;
  wantedBy: string | null;
  wantedByName: string | null;
  keptFor: string | null;
  keptLeftMs: number | null;
  pinnedTo: string | null;
  needs: Readonly<Record<string, string>>;
  /** How many live nodes may have the partition. */
  able: number;
}

export const servedBy = (facts: ServedFacts): ServedBy => {
  const { partition, epoch, holder, holderName: name } = facts;
  const base = { partition, epoch, node: null, name: null, sinceMs: null };
  if (holder !== null && facts.leftMs > 0 && facts.revokedMs === null) {
    const since = formatDuration(facts.heldMs);
    const text = `Node ${who(holder, name)} serves it: it has held partition ${partition} under epoch ${epoch} for ${since}.`;
    return { ...base, node: holder, name, sinceMs: Math.round(facts.heldMs), why: null, text };
  }
  if (holder !== null && facts.leftMs > 0) return { ...base, why: 'revoked', text: revoked(facts, holder) };
  return { ...base, ...unheld(facts) };
};

const who = (id: string, name: string | null): string => (name === null ? id : `${id} ("${name}")`);

const revoked = (
  { partition, epoch, holderName, revokedMs, wantedBy, wantedByName }: ServedFacts,
  holder: string,
): string =>
  `Partition ${partition} moves: node ${who(holder, holderName)}, which holds it under epoch ` +
  `${epoch}, was asked to give it up ${formatDuration(revokedMs!)} ` +
  `ago${wantedBy === null ? '' : `, for node ${who(wantedBy, wantedByName)}`}.`;

const unheld = (facts: ServedFacts): Pick<ServedBy, 'why' | 'text'> => {
  const { handler, partition, holder, holderName, keptFor, keptLeftMs, needs, able, leftMs } = facts;
  const none = `No node holds partition ${partition}`;
  if (holder === null && keptFor !== null && (keptLeftMs ?? 0) > 0)
    return {
      why: 'kept',
      text: `${none}: it is reserved for the restart of "${keptFor}" for another ${formatDuration(keptLeftMs!)}; then another node gets it.`,
    };
  const list = Object.entries(needs).map(([key, value]) => `${key}=${value}`);
  if (able === 0)
    return {
      why: 'no node is able',
      text: `${none}: no live node has handler "${handler}"${list.length === 0 ? '' : ` and the attributes ${list.join(', ')}`}, or every such node is drained.`,
    };
  const passed =
    holder === null ? '' : ` (the lease of ${who(holder, holderName)} expired ${formatDuration(-leftMs)} ago)`;
  return {
    why: 'free',
    text: `${none}${passed}: the balancer gives it to one of ${count(able, 'live node')} within seconds.`,
  };
};

/**
 * Adds which node serves the task to its explanation. An explanation without `waitsFor` stays as it
 * is: the task has ended, or was moving while it was read.
 */
export const withServedBy = (explained: Explanation, served: ServedBy): Explanation => {
  if (explained.waitsFor === null) return explained;
  // What the task waits for is not enough: it is not sent before a node holds the partition.
  const stuck = served.node === null && ['leader', 'slot', 'lane'].includes(explained.waitsFor);
  const waitsFor = stuck ? ('partition' as const) : explained.waitsFor;
  return { ...explained, waitsFor, text: `${explained.text} ${served.text}`, servedBy: served };
};
