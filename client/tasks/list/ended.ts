import { listBadBatches, listEndedBatches, listMembers, listOutcomes } from '../../../postgres/listing/ended';
import type { EndedBatch, EndedScope } from '../../../postgres/listing/ended';
import type { Pool } from '../../../postgres/pool';
import { TASK_STATES } from '../../../workflows/planning/states';
import type { Looked, Step } from './merge';
import { mergeEnded } from './merge';
import type { Candidate, Part } from './part';

/**
 * How far the list has come: before which single end (time in microseconds, seq), before which
 * batch (time, id), and after which member of that batch; 0: it is done.
 */
export type EndedPlace = readonly [outcomeUs: number, seq: number, batchUs: number, batch: number, member: number];

/** A time after all: in the year 2223, in microseconds. */
const END_OF_TIME = 8e15;
export const ENDED_FIRST: EndedPlace = [END_OF_TIME, 0, END_OF_TIME, 0, 0];
/** Returns the place before what ended at this time or later. */
export const endedBefore = (time: Date): EndedPlace => [time.getTime() * 1_000, 0, time.getTime() * 1_000, 0, 0];

/** Rows that a page looks at, of either kind. */
export const LOOKED = 2_000;

/** Reads the next tasks that ended in a state, newest first. */
export const readEnded = async (
  pool: Pool,
  scope: EndedScope,
  place: EndedPlace,
  limit: number,
): Promise<Part<EndedPlace>> => {
  const [outcomeUs, seq, batchUs, batch, member] = place;
  const begun = member === 0 ? [] : await listMembers(pool, [batch], { batchId: batch, place: member }, limit);
  if (begun.length === limit)
    return { candidates: begun.map(toCandidate), next: [outcomeUs, seq, batchUs, batch, begun.at(-1)!.place] };
  const [outcomes, batches] = await Promise.all([
    listOutcomes(pool, scope, { us: outcomeUs, id: seq }, LOOKED),
    readBatches(pool, scope, { us: batchUs, id: batch }),
  ]);
  const { steps, isEnd } = mergeEnded(looked(outcomes), looked(batches), limit - begun.length);
  const members = await membersOfSteps(pool, steps, limit);
  const candidates = begun.map(toCandidate);
  let next: EndedPlace = [outcomeUs, seq, batchUs, batch, 0];
  for (const step of steps) {
    if ('outcome' in step) {
      const { outcome } = step;
      next = [outcome.us, outcome.seq, next[2], next[3], 0];
      if (outcome.matches) candidates.push({ seq: outcome.seq, batchId: outcome.batchId, isOwnEnd: true });
      continue;
    }
    const own = members.get(step.batch.id) ?? [];
    const taken = own.slice(0, limit - candidates.length);
    candidates.push(...taken.map(toCandidate));
    next = [next[0], next[1], step.batch.us, step.batch.id, 0];
    const isCut = candidates.length === limit && step.batch.matches && taken.at(-1)?.place !== step.batch.n;
    if (isCut) return { candidates, next: [next[0], next[1], next[2], next[3], taken.at(-1)?.place ?? 0] };
  }
  return { candidates, next: isEnd ? null : next };
};

const looked = <Row>(rows: readonly Row[]): Looked<Row> => ({ rows, hasMore: rows.length === LOOKED });

const readBatches = async (
  pool: Pool,
  scope: EndedScope,
  before: { us: number; id: number },
): Promise<EndedBatch[]> => {
  if (scope.state === TASK_STATES.cancelled) return []; // no batch is
  const read = scope.state === TASK_STATES.succeeded ? listEndedBatches : listBadBatches;
  return read(pool, scope, before, LOOKED);
};

interface Member {
  seq: number;
  batchId: number;
  place: number;
}
const membersOfSteps = async (
  pool: Pool,
  steps: readonly Step[],
  limit: number,
): Promise<ReadonlyMap<number, readonly Member[]>> => {
  const ids = steps.flatMap((step) => ('batch' in step && step.batch.matches ? [step.batch.id] : []));
  if (ids.length === 0) return new Map();
  const members = new Map<number, Member[]>(ids.map((id) => [id, []]));
  for (const member of await listMembers(pool, ids, { batchId: 0, place: 0 }, limit))
    members.get(member.batchId)!.push(member);
  return members;
};

const toCandidate = ({ seq, batchId }: Member): Candidate => ({ seq, batchId, isOwnEnd: false });
