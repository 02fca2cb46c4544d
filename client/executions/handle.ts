import { setTimeout as sleep } from 'node:timers/promises';
import { cancelWithChunks } from '../../postgres/executions/cancel';
import { listChunks } from '../../postgres/executions/chunk';
import type { ChunkRow } from '../../postgres/executions/chunk';
import { listExecutions, listExecutionsOf, readExecution, readProgress } from '../../postgres/executions/view';
import type { ExecutionRow } from '../../postgres/executions/view';
import { readItems } from '../../postgres/executions/workItem';
import type { Queryable } from '../../postgres/pool';
import { CHUNK, executionStateName, isOver, itemStateName } from '../../workflows/planning/executions/states';
import { formatDuration } from '../../workflows/planning/duration';
import { executionWorkflowId } from '../../workflows/naming';
import { STALLED_MS } from '../../workflows/planning/liveness';
import { ITEM_PAGE_MAX } from '../../workflows/planning/pages';
import { wakeExecutions } from '../../workflows/wake';
import { checkWhole } from '../arguments';
import type { ClientContext } from '../context';
import { MusterError, NotFoundError } from '../errors';
import { CHANGE_IN_STEPS } from '../tasks/failureTexts';
import { checkTimeout } from '../waiting';
import { openItems } from './sealedItems';
import type * as views from './views';
import { resultDocument, resultPageOf, resultPages, resultText } from './results';
import type { ResultPage } from './results';

const viewOf = (row: ExecutionRow, message: string | null): views.ExecutionView => ({
  id: row.id,
  functionId: row.functionId,
  method: row.method,
  config: row.config,
  topic: row.topic,
  state: executionStateName(row.state),
  items: row.items,
  counts: row.counts,
  attemptsLimit: row.attemptsLimit,
  round: row.round,
  message,
  createdAt: row.createdAt.toISOString(),
  startedAt: row.startedAt?.toISOString() ?? null,
  finishedAt: row.finishedAt?.toISOString() ?? null,
});

/** Most chunks that are read, newest first, for the message of an execution and for `chunks`. */
const RECENT_CHUNKS = 1_000;
const NAMED = 10;

/**
 * Describes how long an execution has stalled. Null: a turn has answered the last wake, or still
 * may.
 */
const isStalled = ({ id, wokenMs }: ExecutionRow, prefix: string): string | null =>
  wokenMs === null || wokenMs < STALLED_MS
    ? null
    : `the execution has stalled: it was woken ${formatDuration(wokenMs)} ago and has taken no turn ` +
      `since (workflow ${executionWorkflowId(prefix, id)}); a worker's sweeper restarts its run; if no ` +
      'worker is running, start one';

/**
 * Returns what an execution waits for, and the names of the nodes that never took, or lost, their
 * chunk of the last round.
 */
const messageOf = (row: ExecutionRow, chunks: readonly ChunkRow[], prefix: string): string | null => {
  const lost = chunks.filter(({ round, state }) => round === row.round && state === CHUNK.closed);
  const named = (reason: string): string[] => lost.filter((chunk) => chunk.reason === reason).map(({ node }) => node);
  const list = (nodes: string[]): string =>
    nodes.slice(0, NAMED).join(', ') + (nodes.length > NAMED ? ` and ${nodes.length - NAMED} more` : '');
  const parts = [
    isStalled(row, prefix),
    row.note,
    [named('undelivered'), 'could not be delivered to'] as const,
    [named('expired'), 'was lost with'] as const,
  ]
    .map((part) =>
      part === null || typeof part === 'string'
        ? part
        : part[0].length > 0
          ? `a chunk ${part[1]} ${list(part[0])}; its items are created again`
          : null,
    )
    .filter((part) => part !== null);
  if (row.counts.permanentlyFailed > 0 && isOver(row.state))
    parts.push(`${row.counts.permanentlyFailed} of ${row.items} items failed permanently`);
  return parts.length === 0 ? null : parts.join('; ');
};

/**
 * A handle on one execution. It is created without reading the store; each method reads it, and
 * throws `NotFoundError` if the execution does not exist.
 */
export class Execution {
  constructor(
    private readonly client: ClientContext,
    readonly id: string,
  ) {}

  /** Returns the execution as it is now, and what it waits for. */
  async status(): Promise<views.ExecutionView> {
    const row = await this.row();
    const chunks = await listChunks(this.client.pool, this.id, RECENT_CHUNKS);
    return viewOf(row, messageOf(row, chunks, this.client.prefix));
  }

  /**
   * Returns the state, the number of items per state, and the share of items that have ended, 0 to
   * 1.
   */
  async progress(): Promise<views.ExecutionProgress> {
    const { state, items, counts } = await this.found(readProgress);
    const share = items === 0 ? 0 : (counts.done + counts.permanentlyFailed) / items;
    return { state: executionStateName(state), items, counts, share };
  }

  /** Returns at most 1,000 chunks, newest first: which items each node was given. */
  async chunks(): Promise<views.ChunkView[]> {
    await this.found(readProgress);
    const chunks = await listChunks(this.client.pool, this.id, RECENT_CHUNKS);
    return chunks.map(({ id, node, round, state, n, open, reason }) => ({
      id,
      node,
      round,
      state: CHUNK_NAMES[state]!,
      items: n,
      open,
      reason: reason as views.ChunkView['reason'],
    }));
  }

  /**
   * Yields all work items by position, whatever their state, and reads `pageSize` of them at a
   * time: 1 to 10,000.
   */
  async *items(pageSize = 1_000): AsyncGenerator<views.WorkItemView> {
    checkPage('pageSize', pageSize);
    await this.found(readProgress);
    for (let after = -1; ;) {
      const { rows: page } = await readItems(this.client.pool, this.id, after, { limit: pageSize });
      for (const { chunkId, state, ...item } of await openItems(this.client.sealer, page))
        yield { ...item, state: itemStateName(state), chunk: chunkId };
      if (page.length < pageSize) return;
      after = page.at(-1)!.position;
    }
  }

  /**
   * Returns at most `limit` work items, 1 to 10,000, after the position `after` (default -1: from
   * the first item), whatever their state.
   */
  async itemPage({ limit, after = -1 }: { limit: number; after?: number }): Promise<views.WorkItemView[]> {
    return (await this.itemsAfter({ limit, after })).items;
  }

  /**
   * Returns a page of work items that ends also where their texts reach `maxBytes`, and where the
   * next one begins: absent on the last page. @internal
   */
  async itemsAfter(page: {
    limit: number;
    after: number;
    maxBytes?: number;
  }): Promise<{ items: views.WorkItemView[]; next?: number }> {
    checkPage('limit', page.limit);
    checkWhole('after', page.after, -1, MAX_POSITION);
    await this.found(readProgress);
    const { rows, isCut } = await readItems(this.client.pool, this.id, page.after, page);
    const items = (await openItems(this.client.sealer, rows)).map(({ chunkId, state, ...item }) => ({
      ...item,
      state: itemStateName(state),
      chunk: chunkId,
    }));
    return { items, ...(isCut || rows.length === page.limit ? { next: rows.at(-1)!.position } : {}) };
  }

  /**
   * Returns at most `limit` of the results so far, 1 to 10,000, in the form of the result document,
   * with `next` to pass as `after` for the next page. A page ends also where its texts reach
   * `maxBytes` (default: no limit).
   */
  async resultPage(page: { limit: number; after?: string; maxBytes?: number }): Promise<views.ResultDocumentPage> {
    checkPage('limit', page.limit);
    return resultPageOf(this.client, await this.row(), page);
  }

  /** Yields the results so far, in pages of at most `pageSize` items of one chunk: 1 to 10,000. */
  async *resultPages(pageSize = 1_000): AsyncGenerator<ResultPage> {
    checkPage('pageSize', pageSize);
    const row = await this.row();
    yield* resultPages(this.client, row, pageSize);
  }

  /**
   * Returns the whole result document at once, for executions that fit in memory. `resultText`
   * streams it.
   */
  async results(): Promise<views.ResultDocument> {
    return resultDocument(this.client, await this.row());
  }

  /** Yields the result document as pieces of one JSON text. */
  async *resultText(): AsyncGenerator<string> {
    yield* resultText(this.client, await this.row());
  }

  /**
   * Cancels the execution: no more items are started, running items are interrupted, and later
   * results are refused. Finished items are kept. Returns the execution as it is then; one that has
   * ended before keeps its state.
   */
  async cancel(): Promise<views.ExecutionView> {
    const { pool, prefix } = this.client;
    const act = { verb: 'cancel', subject: `execution ${this.id}` };
    await this.client.change(CHANGE_IN_STEPS, act, async () => {
      if ((await cancelWithChunks(pool, this.id)) === null) throw notFound(this.id);
    });
    await this.client.wake((requests) => wakeExecutions(requests, prefix, [this.id]));
    return this.status();
  }

  /**
   * Resolves when the execution is done or cancelled. Throws a `MusterError` with code TIMEOUT
   * after `timeoutMs` milliseconds, 0 to 2,147,483,647 (default: no limit), while the execution
   * continues.
   */
  async wait(options: { timeoutMs?: number; onProgress?: (progress: views.ExecutionProgress) => void } = {}) {
    checkTimeout(options.timeoutMs);
    const until = performance.now() + (options.timeoutMs ?? Infinity);
    for (let pauseMs = 20; ; pauseMs = Math.min(1_000, pauseMs * 1.5)) {
      const progress = await this.progress();
      options.onProgress?.(progress);
      if (progress.state === 'done' || progress.state === 'cancelled') return this.status();
      const leftMs = until - performance.now();
      if (leftMs <= 0)
        throw new MusterError(
          'TIMEOUT',
          `execution ${this.id}: not done after ${options.timeoutMs} ms (${Math.round(progress.share * 100)} %). It continues; wait again.`,
        );
      await sleep(Math.min(pauseMs, leftMs));
    }
  }

  private row(): Promise<ExecutionRow> {
    return this.found(readExecution);
  }

  private async found<Row>(read: (db: Queryable, id: string) => Promise<Row | null>): Promise<Row> {
    await this.client.ready();
    const row = await read(this.client.pool, this.id);
    if (row === null) throw notFound(this.id);
    return row;
  }
}

const MAX_POSITION = 2_147_483_647;
const checkPage = (field: string, size: unknown): number => checkWhole(field, size, 1, ITEM_PAGE_MAX);

const CHUNK_NAMES: Readonly<Record<number, views.ChunkView['state']>> = {
  [CHUNK.filling]: 'filling',
  [CHUNK.ready]: 'ready',
  [CHUNK.taken]: 'taken',
  [CHUNK.done]: 'done',
  [CHUNK.closed]: 'closed',
};

const RETENTION =
  "An ended execution is deleted after its retention period (7 days, or the workers' executions.retentionMs).";
const notFound = (id: string): Error => new NotFoundError('execution', id, RETENTION);

/** Of the settings of listed executions: a template may have megabytes. */
const LISTED_BYTES = 8_388_608;

/** Which executions are listed. */
export interface ExecutionFilter {
  /** Only those that were marked as this tenant's. */
  tenant?: string;
  /**
   * With `tenant`: only those of these functions, each a name, or the beginning of names with a
   * `*`.
   */
  functions?: readonly string[];
}

export const executions = async (
  client: ClientContext,
  limit: number,
  { tenant, functions }: ExecutionFilter,
): Promise<views.ExecutionView[]> => {
  await client.ready();
  const page = { limit, maxBytes: LISTED_BYTES };
  const rows = await (tenant === undefined
    ? listExecutions(client.pool, page)
    : listExecutionsOf(client.pool, tenant, functions ?? null, page));
  return rows.map((row) => viewOf(row, isStalled(row, client.prefix) ?? row.note));
};
