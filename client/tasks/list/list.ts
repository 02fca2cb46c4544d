import { shownVersion } from '../../../handlers/contracts/payloadVersion';
import type { Contract } from '../../../handlers/types';
import type { ListedTask } from '../../../postgres/listing/task';
import { readListed } from '../../../postgres/listing/task';
import { PAGE_MAX } from '../../../workflows/planning/pages';
import type { TaskState } from '../../../workflows/planning/states';
import { isTerminal, TASK_STATES, taskStateName } from '../../../workflows/planning/states';
import { checkErrorPart, checkOneOf, checkTime, checkWhole } from '../../arguments';
import type { KnowingContext } from '../../context';
import { InvalidArgumentError } from '../../errors';
import { findScope } from '../../operations/scope';
import type { TaskPage, TaskSummary } from '../../views';
import type { Cursor } from './cursor';
import { decodeCursor, encodeCursor } from './cursor';
import { endedBefore } from './ended';
import type { Candidate } from './part';
import { SOURCES } from './sources';

/** Options of `tasks.list`: which tasks, and which page of them. */
export interface ListTasksOptions {
  /** Only tasks in this state. */
  state: TaskState;
  /** Only tasks of this target, which needs a handler; default: of the whole handler. */
  target?: string;
  /** Only tasks whose error contains this text (1 to 1,000 characters, as it is written). */
  error?: string;
  /**
   * Only tasks that ended at this time or later: a date, ISO time or Unix milliseconds. Only for a
   * state in which tasks have ended.
   */
  since?: Date | string | number;
  /** Only tasks that ended before this time, in the same form. */
  until?: Date | string | number;
  /** Most tasks of the page, 1 to 1,000. Default 100. */
  limit?: number;
  /** The `next` of the page before. */
  after?: string;
}

const STATES = Object.keys(TASK_STATES) as TaskState[];
/** Parts that one page is put together of at most, where few of the tasks match. */
export const MOST_PARTS = 10;

/** Lists the tasks of a handler, or of all, that are in one state, page by page. */
export const listTasks = async (
  client: KnowingContext,
  handler: string | null,
  options: ListTasksOptions,
): Promise<TaskPage> => {
  const state = checkOneOf('state', options?.state, STATES);
  const limit = checkWhole('limit', options.limit ?? 100, 1, PAGE_MAX);
  const error = options.error === undefined ? null : checkErrorPart('error', options.error);
  const { first, sinceUs } = checkTimes(state, options);
  let cursor: Cursor | null = options.after === undefined ? first : decodeCursor(state, options.after);
  const { handlerId, target } = await scopeOf(client, handler, state, options.target);
  const tasks: TaskSummary[] = [];
  for (let parts = 0; cursor !== null && tasks.length < limit && parts < MOST_PARTS; parts++) {
    const at: Cursor = cursor;
    const source = SOURCES[state][at.source]!;
    const scope = { handlerId, target, state: TASK_STATES[state], sinceUs };
    const { candidates, next } = await source.read(client.pool, scope, at.place, limit - tasks.length);
    tasks.push(...(await summaries(client, candidates, state, error)));
    cursor = next === null ? startOf(state, at.source + 1) : { ...at, place: next };
  }
  return { tasks, next: cursor === null ? null : encodeCursor(state, cursor) };
};

/**
 * Checks the times, which only the tables of what has ended are ordered by. Returns where the list
 * begins.
 */
const checkTimes = (
  state: TaskState,
  { since, until }: Pick<ListTasksOptions, 'since' | 'until'>,
): { first: Cursor; sinceUs: number } => {
  for (const [field, value] of [
    ['since', since],
    ['until', until],
  ] as const)
    if (value !== undefined && !isTerminal(state))
      throw new InvalidArgumentError(
        field,
        `none with state ${state}, of which only the order of sending is kept`,
        value,
      );
  const place = until === undefined ? SOURCES[state][0]!.first : endedBefore(checkTime('until', until));
  const sinceUs = since === undefined ? 0 : checkTime('since', since).getTime() * 1_000;
  return { first: { source: 0, place }, sinceUs };
};

const scopeOf = async (
  client: KnowingContext,
  handler: string | null,
  state: TaskState,
  target: string | undefined,
): Promise<{ handlerId: number | null; target: string | null }> => {
  if (handler !== null) return findScope(client, handler, target);
  if (target !== undefined) throw new InvalidArgumentError('target', 'none without a handler', target);
  if (!isTerminal(state))
    throw new InvalidArgumentError(
      'handler',
      `one with state ${state}`,
      null,
      'Only tasks that have ended are listed of all handlers.',
    );
  await client.ready();
  return { handlerId: null, target: null };
};

const startOf = (state: TaskState, source: number): Cursor | null => {
  const found = SOURCES[state][source];
  return found === undefined ? null : { source, place: found.first };
};

/** Reads the tasks as they are now, and leaves out those that have moved on or do not match. */
const summaries = async (
  client: KnowingContext,
  candidates: readonly Candidate[],
  state: TaskState,
  error: string | null,
): Promise<TaskSummary[]> => {
  if (candidates.length === 0) return [];
  const rows = await readListed(
    client.pool,
    candidates.map(({ seq }) => seq),
  );
  const { sealer } = client;
  const texts = rows.map((row) => row.error ?? '');
  const plain = sealer === null || error === null ? texts : await sealer.openTexts(texts);
  const kept = rows.filter((_, i) => error === null || plain[i]!.includes(error));
  const bySeq = new Map(kept.map((row) => [row.seq, row]));
  return candidates.flatMap((candidate) => {
    const row = bySeq.get(candidate.seq);
    if (row === undefined || !isStill(candidate, row) || row.state !== TASK_STATES[state]) return [];
    return [toSummary(client.handlers.get(row.handler), row)];
  });
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
    priority: row.priority,
    ...shownVersion(contract, row.version),
    error: row.error,
    ...(isTerminal(state) && row.finishedAt !== null ? { finishedAt: row.finishedAt.toISOString() } : {}),
  };
};
