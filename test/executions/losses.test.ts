import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { ActivityDeps } from '../../activities/deps';
import { ChunkItems } from '../../activities/executions/chunkItems';
import { ExecutionMeters } from '../../activities/executions/meters';
import { rollCall } from '../../activities/executions/rollCall';
import { DEFAULT_EXECUTION_SETTINGS } from '../../activities/executions/settings';
import type { ExecutionSettings } from '../../activities/executions/settings';
import { closeChunk, giveBackItems, reachChunk, takeChunk } from '../../postgres/executions/chunk';
import type { CloseReason, GivenBack } from '../../postgres/executions/chunk';
import { acceptExecution, appendItems, insertExecution } from '../../postgres/executions/execution';
import { fillChunks, insertChunks, readyChunks, takeTurn } from '../../postgres/executions/turn';
import { readGivenItems, recordResults } from '../../postgres/executions/workItem';
import { LOST_BEFORE } from '../../workflows/planning/executions/attempts';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';

/** What the loss of a node costs the items that it had, statement by statement. */

let database: TestDatabase;
beforeAll(async () => void (database = await createDatabase()));
afterAll(() => database.drop());

const NODE = 'node-1';
const LEASE_MS = 60_000;
const run = { id: 'run', startedAtMs: 0, turn: 0 };

/** An execution of so many items, in rounds of one chunk. */
class Lossy {
  readonly id = randomUUID();
  private round = 0;

  static async begin(items: number, attemptsLimit = 10): Promise<Lossy> {
    const { pool } = database;
    const lossy = new Lossy();
    const execution = {
      id: lossy.id,
      functionId: 'f',
      method: 'run',
      config: {},
      topic: null,
      tenant: null,
      maxAttempts: attemptsLimit,
    };
    await insertExecution(pool, execution);
    const contentIds = Array.from({ length: items }, () => randomUUID());
    await appendItems(pool, lossy.id, 0, { contentIds, argumentLists: contentIds.map(() => '[]') });
    expect(await acceptExecution(pool, lossy.id, items)).toBe(true);
    return lossy;
  }

  /** Hands all pending items to a chunk that is taken, and reaches so far. */
  async chunk(reached: number | null): Promise<{ id: string; nodeId: string; epoch: number }> {
    const { pool } = database;
    const id = randomUUID();
    await takeTurn(pool, this.id, { ...run, turn: ++this.round }, 10);
    await insertChunks(pool, this.id, this.round, 1, [{ id, node: NODE }]);
    await fillChunks(pool, this.id, this.round, -1);
    await readyChunks(pool, this.id, this.round);
    const { epoch } = (await takeChunk(pool, id, NODE, LEASE_MS))!;
    const chunk = { id, nodeId: NODE, epoch };
    if (reached !== null) expect(await reachChunk(pool, chunk, reached)).toBe(true);
    return chunk;
  }

  async lose(reached: number | null, reason: CloseReason = 'expired', maxLosses = 2): Promise<GivenBack> {
    const { pool } = database;
    const { id } = await this.chunk(reached);
    await pool.query(`update chunk set expires_at = clock() where id = $1`, [id]);
    expect(await closeChunk(pool, id, reason, NODE)).toBe(true);
    return giveBackItems(pool, id, maxLosses);
  }

  /** By position: state, attempts, losses. */
  async items(): Promise<number[][]> {
    const { rows } = await database.pool.query<{ state: number; attempts: number; losses: number }>(
      'select state, attempts, losses from work_item where execution_id = $1 order by position',
      [this.id],
    );
    return rows.map(({ state, attempts, losses }) => [state, attempts, losses]);
  }

  async state(): Promise<unknown> {
    const { rows } = await database.pool.query(
      'select state, n_created, n_running, n_failed, n_dead from execution where id = $1',
      [this.id],
    );
    return rows[0];
  }
}

test('the first loss counts nothing, and only for what may have begun', async () => {
  const lossy = await Lossy.begin(3);
  expect(await lossy.lose(1)).toEqual({ left: 0, failed: 0, dead: 0 });
  const items = [
    [0, 0, 1],
    [0, 0, 1],
    [0, 0, 0],
  ];
  expect(await lossy.items()).toEqual(items);
  // Nothing has begun, or the node is of a version that does not say.
  await lossy.lose(null);
  expect(await lossy.items()).toEqual(items);
  await lossy.lose(LOST_BEFORE + 1, 'returned');
  expect(await lossy.items()).toEqual(items);
});

test('what was lost before comes after the others, and the next loss is the last of the one that ran', async () => {
  const lossy = await Lossy.begin(3);
  await lossy.lose(1);
  const { id } = await lossy.chunk(null);
  const given = async (before: boolean) =>
    (await readGivenItems(database.pool, id, before, -1, 10)).map(({ position }) => position);
  expect([await given(false), await given(true)]).toEqual([[2], [0, 1]]);
  await database.pool.query(`update chunk set expires_at = clock(), reached = $2 where id = $1`, [id, LOST_BEFORE]);
  await closeChunk(database.pool, id, 'expired');
  expect(await giveBackItems(database.pool, id, 2)).toEqual({ left: 0, failed: 0, dead: 1 });
  expect(await lossy.items()).toEqual([
    [-2, 1, 2],
    [0, 0, 1],
    [0, 0, 1],
  ]);
  expect(await lossy.state()).toMatchObject({ state: 1, n_created: 2, n_running: 0, n_dead: 1 });
});

test('with more losses allowed each counts an attempt, up to the limit of attempts', async () => {
  const lossy = await Lossy.begin(1, 2);
  await lossy.lose(0, 'expired', 100);
  expect(await lossy.lose(LOST_BEFORE, 'expired', 100)).toEqual({ left: 0, failed: 1, dead: 0 });
  expect(await lossy.items()).toEqual([[-1, 1, 2]]);
  expect(await lossy.lose(LOST_BEFORE, 'expired', 100)).toEqual({ left: 0, failed: 0, dead: 1 });
  expect(await lossy.items()).toEqual([[-2, 2, 3]]);
  // The loss that left nothing to do has ended the execution.
  expect(await lossy.state()).toMatchObject({ state: 100, n_running: 0, n_dead: 1 });
});

test('losses are counted in a row: a result ends the row', async () => {
  const lossy = await Lossy.begin(1);
  await lossy.lose(0);
  const chunk = await lossy.chunk(LOST_BEFORE);
  const failed = { position: 0, ok: false, exitCode: 1, stdout: '', stderr: '', usage: null, metadata: null };
  await recordResults(database.pool, chunk, [failed]);
  expect(await lossy.items()).toEqual([[-1, 1, 0]]);
  expect(await lossy.lose(0)).toEqual({ left: 0, failed: 0, dead: 0 });
  expect(await lossy.items()).toEqual([[0, 1, 1]]);
});

test('a chunk that was closed is reached no further', async () => {
  const lossy = await Lossy.begin(1);
  const chunk = await lossy.chunk(0);
  await closeChunk(database.pool, chunk.id, 'returned', NODE);
  expect(await reachChunk(database.pool, chunk, 1)).toBe(false);
});

const reachedOf = async ({ id }: { id: string }): Promise<number | null> => {
  const { rows } = await database.pool.query<{ reached: string | null }>({
    text: 'select reached from chunk where id = $1',
    values: [id],
  });
  return rows[0]!.reached === null ? null : Number(rows[0]!.reached);
};

test('what was lost before begins one by one, each once the results of all before it are stored', async () => {
  const lossy = await Lossy.begin(2);
  await lossy.lose(1);
  const chunk = await lossy.chunk(null);
  const seen: unknown[] = [];
  const items = new ChunkItems({
    pool: database.pool,
    sealer: null,
    log: pino({ level: 'silent' }),
    chunk,
    concurrency: 4,
    stop: new AbortController().signal,
    flush: async () => void seen.push(['stored', await reachedOf(chunk)]),
  });
  for await (const { position } of items.announced(true)) seen.push([position, await reachedOf(chunk)]);
  expect(seen).toEqual([
    ['stored', null],
    [0, LOST_BEFORE],
    ['stored', LOST_BEFORE],
    [1, LOST_BEFORE + 1],
  ]);
});

/** Takes the turn of a workflow that knows of no chunk. */
const takeTurnOf = (executionId: string, turn: number, executions: Partial<ExecutionSettings>) => {
  const deps: Partial<ActivityDeps> = {
    pool: database.pool,
    executions: { ...DEFAULT_EXECUTION_SETTINGS, ...executions },
    meters: new ExecutionMeters(),
  };
  const known = { running: [], undelivered: [], rollCallOver: false, mayPlan: true };
  return rollCall(deps as ActivityDeps, { batch: true, executionId, runId: 'run', runStartedAtMs: 0, turn, ...known });
};

test.each([
  [2, [-2, 1, 2]],
  [4, [-1, 1, 2]],
])("a turn gives back what a dead node had by the operator's limit of %i losses", async (maxLosses, item) => {
  const lossy = await Lossy.begin(1);
  await lossy.lose(0);
  const { id } = await lossy.chunk(LOST_BEFORE);
  await database.pool.query({ text: 'update chunk set expires_at = clock() where id = $1', values: [id] });
  await takeTurnOf(lossy.id, 10, { maxLosses });
  expect(await lossy.items()).toEqual([item]);
});

test('the sweeper wakes an execution half a minute after its own time only', async () => {
  const lossy = await Lossy.begin(1);
  expect(await takeTurnOf(lossy.id, 1, { rollCallMs: 7_000 })).toMatchObject({ next: 'roll-call' });
  const { rows } = await database.pool.query<{ inMs: number }>({
    text: `select extract(epoch from resume_at - clock())::float8 * 1000 as "inMs" from execution where id = $1`,
    values: [lossy.id],
  });
  expect(rows[0]!.inMs).toBeGreaterThan(30_000);
  expect(rows[0]!.inMs).toBeLessThanOrEqual(37_000);
});
