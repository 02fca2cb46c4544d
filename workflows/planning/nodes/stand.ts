import type { Item } from './board';
import type { Need } from './needs';
import { Needs } from './needs';
import type { Seat, Seated, Seats } from './seats';
import { isAble, seatNamed } from './seats';
import type { Limits, PartitionFacts } from './types';

/** Says whether no node holds it. */
export const isFree = ({ holder, expired }: PartitionFacts): boolean => holder === null || expired;

/**
 * Returns where each partition is before anything is planned. Partitions of a node that is away
 * within the restart grace are left out: they wait for it, and count for no node.
 */
export const standOf = (partitions: readonly PartitionFacts[], seats: Seats, limits: Limits): Item[] => {
  const needs = new Needs(seats.open);
  return partitions.flatMap((facts) => {
    const pinned = pinnedSeat(facts, seats);
    const holder = facts.holder === null ? undefined : seats.processes.get(facts.holder);
    if (holder !== undefined && isKept(facts, holder.seat, pinned)) return [];
    return [
      itemOf(facts, { seats, holder, need: pinned === null ? needs.of(facts) : needs.only(pinned.index) }, limits),
    ];
  });
};

const pinnedSeat = (facts: PartitionFacts, seats: Seats): Seat | null => {
  const seat = facts.pinned === null ? undefined : seatNamed(seats, facts.pinned);
  return seat?.state === 'open' && isAble(seat.process, facts) ? seat : null;
};

const isKept = (facts: PartitionFacts, seat: Seat, pinned: Seat | null): boolean =>
  seat.state === 'away' &&
  facts.revokedFor === null &&
  facts.claimedTwice !== true &&
  pinned === null &&
  isAble(seat.process, facts);

interface Place {
  seats: Seats;
  holder: Seated | undefined;
  need: Need;
}

const itemOf = (facts: PartitionFacts, { seats, holder, need }: Place, limits: Limits): Item => {
  const may = (seat: Seat | undefined): seat is Seat => seat?.state === 'open' && need.has(seat.index);
  const wanted = facts.revokedFor === null ? undefined : seatNamed(seats, facts.revokedFor);
  const isTheNode = holder !== undefined && holder.process === holder.seat.process;
  const mayStay = may(holder?.seat) && facts.claimedTwice !== true;
  const seat = may(wanted) ? wanted.index : mayStay ? holder.seat.index : -1;
  const isHeld = !isFree(facts) && facts.revokedFor === null && isTheNode && mayStay;
  return {
    facts,
    need,
    weight: limits.by === 'count' ? 1 : weightOf(facts),
    origin: isHeld ? seat : -1,
    young: facts.heldMs < limits.minimumHoldMs,
    leaves: isHeld ? null : whyItLeaves(facts, holder),
    seat,
    step: null,
  };
};

/** A weight below this is idle: sums would lose it. */
const LEAST_WEIGHT = 1e-9;
const weightOf = ({ weight }: PartitionFacts): number => {
  if (!Number.isFinite(weight) || weight < 0) return 1;
  return weight < LEAST_WEIGHT ? 0 : weight;
};

const whyItLeaves = (facts: PartitionFacts, holder: Seated | undefined): Item['leaves'] => {
  if (facts.claimedTwice === true) return 'claimed twice';
  if (holder === undefined) return null;
  if (holder.process.draining) return 'drain';
  return isAble(holder.process, facts) ? 'pinned' : 'attributes';
};
