import { shownVersion } from '../../../handlers/contracts/payloadVersion';
import type { Contract } from '../../../handlers/types';
import type { SeqRange } from '../../../postgres/listing/accepted';
import { ALL_SEQS } from '../../../postgres/listing/accepted';
import type { ListedTask } from '../../../postgres/listing/task';
import { isOrdered } from '../../../postgres/listing/byTime';
import { readListed } from '../../../postgres/listing/task';
import type { TimeOrder } from '../../../workflows/planning/pages';
import { PAGE_MAX, TIME_ORDERS } from '../../../workflows/planning/pages';
import type { TaskState } from '../../../workflows/planning/states';
import { isTerminal, TASK_STATES, taskStateName } from '../../../workflows/planning/states';
import { checkErrorPart, checkOneOf, checkTime, checkWhole } from '../../arguments';
import type { KnowingContext } from '../../context';
import { InvalidArgumentError } from '../../errors';
import { findScope } from '../../operations/scope';
import type { TaskPage, TaskSummary } from '../../views';
import { checkTag } from '../labels/check';
import { shownExpiry, shownTags } from '../read';
import { acceptedIn } from './accepted';
import { byTime } from './byTime';
import type { Cursor, Listing } from './cursor';
import { decodeCursor, encodeCursor } from './cursor';
import { ENDED_FIRST, endedBefore } from './ended';
import type { Candidate } from './part';
import type { Place, Source } from './sources';
import { SOURCES } from './sources';
import { tagged } from './tagged';

/** Options of `tasks.list`: which tasks, by `state`, `tag` or both, and which page of them. */
export interface ListTasksOptions {
  /** Only tasks in this state. Default, with `tag`: in any. */
  state?: TaskState;
  /** Only tasks that were submitted with this tag, those that were accepted last first. */
  tag?: string;
  /**
   * Waiting tasks, those with state `created`, over all targets in the order in which they were
   * accepted. Default: `newest` with `since` or `until`, else by target, as they will be sent. Not
   * of a handler with lanes.
   */
  order?: TimeOrder;
  /** Only tasks of this target, which needs a handler; default: of the whole handler. */
  target?: string;
  /** Only tasks whose error contains this text (1 to 1,000 characters, as it is written). */
  error?: string;
  /**
   * Only tasks that ended at this time or later, or were accepted then where `state` is none in
   * which tasks have ended: a date, ISO time or Unix milliseconds.
   */
  since?: Date | string | number;
  /** Only tasks that ended, or were accepted, before this time, in the same form. */
  until?: Date | string | number;
  /** Most tasks of the page, 1 to 1,000. Default 100. */
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

const STATES = Object.keys(TASK_STATES) as TaskState[];
/** Parts that one page is put together of at most, where few of the tasks match. */
export const MOST_PARTS = 10;

/** Lists the tasks of a handler, or of all, that are in one state or have a tag, page by page. */
export const listTasks = async (
  client: KnowingContext,
  handler: string | null,
  options: ListTasksOptions,
): Promise<TaskPage> => {
  const asked = checkAsked(options ?? {});
  const limit = checkWhole('limit', options.limit ?? 100, 1, PAGE_MAX);
  const { handlerId, target } = await scopeOf(client, handler, asked, options.target);
  const wanted = { ...asked, ...(await listingOf(client, handlerId, asked)) };
  const { sources, seqs } = wanted;
  const first: Cursor = { source: 0, place: firstPlace(wanted) };
  let cursor: Cursor | null = options.after === undefined ? first : decodeCursor(wanted, options.after);
  const sinceUs = (wanted.since?.getTime() ?? 0) * 1_000;
  const state = wanted.state === null ? null : TASK_STATES[wanted.state];
  // Encoded errors are opened first: `summaries` looks for the text in them.
  const error = client.sealer?.sealsTexts === true ? null : wanted.error;
  const scope = { handlerId, target, state, sinceUs, error, seqs };
  const tasks: TaskSummary[] = [];
  for (let parts = 0; cursor !== null && tasks.length < limit && parts < MOST_PARTS; parts++) {
    const at: Cursor = cursor;
    const { candidates, next } = await sources[at.source]!.read(client.pool, scope, at.place, limit - tasks.length);
    tasks.push(...(await summaries(client, candidates, wanted)));
    cursor = next === null ? startOf(sources, at.source + 1) : { ...at, place: next };
  }
  return { tasks, next: cursor === null ? null : encodeCursor(wanted, cursor) };
};

interface Asked {
  state: TaskState | null;
  tag: string | null;
  order: TimeOrder | null;
  error: string | null;
  since: Date | null;
  until: Date | null;
}

interface Ranged extends Listing {
  seqs: SeqRange;
}

type Wanted = Asked & Ranged;

const checkAsked = ({ state, tag, order, error, since, until }: ListTasksOptions): Asked => {
  const of = state === undefined && tag !== undefined ? null : checkOneOf('state', state, STATES);
  return {
    state: of,
    tag: tag === undefined ? null : checkTag('tag', tag),
    order: checkOrder(of, tag, order),
    error: error === undefined ? null : checkErrorPart('error', error),
    since: since === undefined ? null : checkTime('since', since),
    until: until === undefined ? null : checkTime('until', until),
  };
};

const checkOrder = (state: TaskState | null, tag: string | undefined, order: unknown): TimeOrder | null => {
  if (order === undefined) return null;
  const checked = checkOneOf('order', order, TIME_ORDERS);
  if (tag !== undefined)
    throw new InvalidArgumentError('order', 'none with a tag: such tasks come newest first', order);
  if (state === 'created') return checked;
  throw new InvalidArgumentError('order', 'state created with it', `state ${state}`);
};

/** Returns where tasks are found; waiting ones, and those with a tag, only in the time's range. */
const listingOf = async (client: KnowingContext, handlerId: number | null, asked: Asked): Promise<Ranged> => {
  const { state, tag, since, until } = asked;
  const name = state ?? 'tagged';
  const isOfEnds = state !== null && isTerminal(state);
  const isInRange = !isOfEnds && (tag !== null || state === 'created');
  const seqs = isInRange ? await acceptedIn(client.pool, asked) : ALL_SEQS;
  if (tag !== null) return { name, sources: [tagged(tag, seqs)], seqs };
  const isOfTime = state === 'created' && (since !== null || until !== null);
  // A lane keeps its own order.
  const order = asked.order ?? (isOfTime && !(await isOrdered(client.pool, handlerId!)) ? 'newest' : null);
  return { name, sources: order === null ? SOURCES[state!] : [byTime(order, seqs)], seqs };
};

const firstPlace = ({ sources, until }: Wanted): Place => {
  const { first } = sources[0]!;
  return until === null || first !== ENDED_FIRST ? first : endedBefore(until);
};

const scopeOf = async (
  client: KnowingContext,
  handler: string | null,
  { state, tag, order }: Asked,
  target: string | undefined,
): Promise<{ handlerId: number | null; target: string | null }> => {
  if (handler !== null) {
    const scope = await findScope(client, handler, target);
    if (order !== null && (await isOrdered(client.pool, scope.handlerId)))
      throw new InvalidArgumentError(
        'order',
        `none for handler "${handler}", whose tasks wait in lanes`,
        order,
        'A lane sends them in the order of submission.',
      );
    return scope;
  }
  if (target !== undefined) throw new InvalidArgumentError('target', 'none without a handler', target);
  if (tag === null && state !== null && !isTerminal(state))
    throw new InvalidArgumentError(
      'handler',
      `one with state ${state}`,
      null,
      'Only tasks that have ended, or have a tag, are listed of all handlers.',
    );
  await client.ready();
  return { handlerId: null, target: null };
};

const startOf = (sources: readonly Source[], source: number): Cursor | null => {
  const found = sources[source];
  return found === undefined ? null : { source, place: found.first };
};

/** Reads the tasks as they are now, and leaves out those that have moved on or do not match. */
const summaries = async (
  client: KnowingContext,
  candidates: readonly Candidate[],
  wanted: Wanted,
): Promise<TaskSummary[]> => {
  if (candidates.length === 0) return [];
  const { error, state } = wanted;
  const rows = await readListed(
    client.pool,
    candidates.map(({ seq }) => seq),
  );
  const { sealer } = client;
  const texts = rows.map((row) => row.error ?? '');
  const plain = sealer === null || error === null ? texts : await sealer.openTexts(texts);
  const kept = rows.filter((row, i) => (error === null || plain[i]!.includes(error)) && isInTime(wanted, row));
  const bySeq = new Map(kept.map((row) => [row.seq, row]));
  return candidates.flatMap((candidate) => {
    const row = bySeq.get(candidate.seq);
    if (row === undefined) return [];
    if (state !== null && (!isStill(candidate, row) || row.state !== TASK_STATES[state])) return [];
    return [toSummary(client.handlers.get(row.handler), row)];
  });
};

/** Says so of the tables that are not ordered by time, too: by the end, else by the acceptance. */
const isInTime = ({ state, since, until }: Wanted, { createdAt, finishedAt }: ListedTask): boolean => {
  const time = state !== null && isTerminal(state) ? finishedAt : createdAt;
  return (since === null || (time !== null && time >= since)) && (until === null || (time !== null && time < until));
};

/** A task that was sent again has its end elsewhere, and would be listed twice. */
export const isStill = ({ batchId, isOwnEnd }: Candidate, row: ListedTask): boolean =>
  batchId === row.batchId && (isOwnEnd === null || isOwnEnd === row.isOwnEnd);

/** Returns what lists show of a task. */
export const toSummary = (contract: Contract | undefined, row: ListedTask): TaskSummary => {
  const state = taskStateName(row.state);
  return {
    id: row.id,
    handler: row.handler,
    target: row.target,
    state,
    attempts: row.attempts,
    batch: row.batchId,
    createdAt: row.createdAt.toISOString(),
    ...(row.notBefore === null ? {} : { notBefore: row.notBefore.toISOString() }),
    ...shownExpiry(row),
    priority: row.priority,
    ...shownVersion(contract, row.version),
    ...shownTags(row),
    error: row.error,
    ...(isTerminal(state) && row.finishedAt !== null ? { finishedAt: row.finishedAt.toISOString() } : {}),
  };
};
