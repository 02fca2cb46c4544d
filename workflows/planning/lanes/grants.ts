import { isSaturated } from './backPressure';
import { LaneWalk } from './eligibility';
import { isInFlight } from './statuses';
import type { Strategy, Turn } from './strategies';
import { ROUND, strategyOf } from './strategies';
import type {
  Accounting,
  DependencyFailure,
  Grant,
  GrantPlan,
  Lane,
  LaneUpdate,
  QueuedBatch,
  QueuerState,
} from './types';
import type { Held } from './tokens';
import { TokenBudget } from './tokens';
import { TurnQueue } from './turnQueue';

/** A lane while a plan is made. */
interface Entrant {
  lane: Lane;
  walk: LaneWalk;
  accounting: Accounting;
  pending: number;
  saturated: boolean;
  granted: number;
  /** The next batch to send; null: none may go. */
  next: QueuedBatch | null;
  /**
   * The limit of its handler that holds that batch back although its lane lets it go; null: none.
   */
  held: Held | null;
}

/**
 * Wait before a lane that is held by a limit is looked at again. Only a safety net: the end of a
 * call or batch makes such a lane ready.
 */
const HELD_LOOK_MS = 30_000;

/**
 * Decides which batches `slots` free submitters send next. Pure: the same input gives the same
 * plan. The caller applies the plan in the transaction that read the state, with the lane rows
 * locked: grants become `submitted`, failures `failed-dependency`.
 */
export const planGrants = (state: QueuerState, slots: number): GrantPlan => {
  if (slots <= 0 || state.paused)
    return {
      grants: [],
      failures: [],
      lanes: [],
      round: state.round,
      paced: NOTHING_PACED,
      dueInMs: null,
      again: false,
    };
  const strategy = strategyOf(state.strategy);
  const entrants = state.lanes.map(enter);
  const budget = new TokenBudget(state.handlers ?? [], state.nowMs ?? 0);
  const { grants, round, cut } = serve(state, strategy, entrants, slots, budget);
  const failures = entrants.flatMap(({ lane, walk }) =>
    walk.failures.map((failure): DependencyFailure => ({ ...failure, laneId: lane.id })),
  );
  const lanes = entrants.map((entrant) => updateOf(entrant));
  const changed = lanes.filter((update, at) => differs(entrants[at]!.lane, update));
  const dues = lanes.flatMap(({ dueInMs }) => (dueInMs === null ? [] : [dueInMs]));
  return {
    grants,
    failures,
    lanes: changed,
    round,
    paced: budget.paced,
    dueInMs: dues.length === 0 ? null : Math.min(...dues),
    again:
      grants.length < slots &&
      (cut || state.more || failures.length > 0) &&
      grants.length + changed.length + failures.length > 0,
  };
};

const NOTHING_PACED: GrantPlan['paced'] = { handlers: new Map(), targets: new Map() };

const enter = (lane: Lane): Entrant => {
  const saturated = isSaturated(lane.pending, lane.pendingLimit, lane.saturated);
  const walk = new LaneWalk(lane);
  const { deficit, served, pending } = lane;
  const isStopped = lane.paused || lane.haltedBy !== null || (lane.holdInMs ?? 0) > 0 || saturated;
  return {
    lane,
    walk,
    accounting: { deficit, served },
    pending,
    saturated,
    granted: 0,
    next: isStopped ? null : walk.next(),
    held: null,
  };
};

const serve = (
  state: QueuerState,
  strategy: Strategy,
  entrants: readonly Entrant[],
  slots: number,
  budget: TokenBudget,
) => {
  let round = state.round;
  const turnOf = ({ lane, accounting }: Entrant, batch: QueuedBatch): Turn => ({
    laneId: lane.id,
    due: accounting.served,
    sequence: batch.sequence,
    part: batch.part,
  });
  // If there are more lanes than were given, none is served at a place after the last given lane: a
  // lane that was not given may come before that place.
  const last = state.more ? entrants.at(-1) : undefined;
  const lastWaiting = last?.lane.open.find(({ status }) => !isInFlight(status));
  const horizon = last === undefined || lastWaiting === undefined ? null : turnOf(last, lastWaiting);
  const queue = new TurnQueue<Entrant>(strategy.compare);
  for (const entrant of entrants) if (entrant.next !== null) queue.add(turnOf(entrant, entrant.next), entrant);

  const grants: Grant[] = [];
  let cut = false;
  while (grants.length < slots) {
    const first = queue.take();
    if (first === null) break;
    const { turn, item: entrant } = first;
    // The first grant is made in any case: in `single`, the first batch of a lane that may go can
    // come after batches that merely wait, in every lane.
    if (horizon !== null && grants.length > 0 && strategy.compare(turn, horizon) > 0) break;
    const batch = entrant.next!;
    const taken = budget.take(batch);
    if ('held' in taken) {
      entrant.held = taken.held; // its place stays, since it has not been served
      continue;
    }
    const entered = strategy.enter({ ...entrant.accounting, weight: entrant.lane.weight }, round);
    round = Math.max(round, entered.served);
    grants.push({ ...grant(entrant, batch, strategy, entered, round), startInMs: taken.startInMs });
    if (entrant.next === null) continue;
    if (entrant.granted < strategy.grantsPerLane(state.depth)) queue.add(turnOf(entrant, entrant.next), entrant);
    else cut = true;
  }
  return { grants, round, cut };
};

/** Grants this batch, the entrant's next, and finds the batch to send after it. */
const grant = (
  entrant: Entrant,
  batch: QueuedBatch,
  strategy: Strategy,
  entered: Accounting,
  round: number,
): Omit<Grant, 'startInMs'> => {
  const { lane } = entrant;
  entrant.accounting = strategy.charge({ ...entered, weight: lane.weight }, batch.weight);
  entrant.granted += 1;
  entrant.pending += 1;
  entrant.saturated = isSaturated(entrant.pending, lane.pendingLimit, entrant.saturated);
  entrant.next = entrant.saturated ? null : entrant.walk.next();
  const { id: laneId, service } = lane;
  const purpose = batch.status === 'unknown' ? 'resolve' : 'send';
  return {
    batchId: batch.id,
    laneId,
    service,
    from: batch.status,
    purpose,
    weight: batch.weight,
    round: Math.floor(round / ROUND),
  };
};

const updateOf = ({ lane, walk, accounting, pending, saturated, granted, next, held }: Entrant): LaneUpdate => {
  const halting = lane.onInvalid === 'halt' ? walk.failures[0]?.batchId : undefined;
  const isStopped = lane.paused || lane.haltedBy !== null;
  const holdInMs = lane.holdInMs !== null && lane.holdInMs > 0 ? lane.holdInMs : null;
  // If no given batch is left to go, batches that were not given may go as well.
  const mayHaveMore = granted + walk.failures.length > 0 && !saturated && !walk.sawAll;
  return {
    laneId: lane.id,
    ...accounting,
    pending,
    saturated,
    haltedBy: lane.haltedBy ?? halting ?? walk.parked,
    // A stopped lane was not walked: it stays marked as ready, and the index leaves it out while it
    // is stopped.
    ready: held === null && (isStopped || next !== null || mayHaveMore),
    dueInMs: held !== null ? (held.inMs ?? HELD_LOOK_MS) : isStopped || saturated ? null : (holdInMs ?? walk.dueInMs),
    heldBy: held?.handlerId ?? null,
    unservedBy: walk.unservedBy,
  };
};

const differs = (lane: Lane, update: LaneUpdate): boolean =>
  !update.ready ||
  update.dueInMs !== null ||
  update.pending !== lane.pending ||
  update.saturated !== lane.saturated ||
  update.haltedBy !== lane.haltedBy ||
  update.deficit !== lane.deficit ||
  update.served !== lane.served;
