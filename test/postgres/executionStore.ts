import { randomUUID } from 'node:crypto';
import { storeExecution } from '../../client/executions/execute';
import * as chunks from '../../postgres/executions/chunk';
import * as turns from '../../postgres/executions/turn';
import { readExecution } from '../../postgres/executions/view';
import { inTransaction } from '../../postgres/pool';
import type { Pool } from '../../postgres/pool';
import type { ItemResult } from '../../postgres/executions/workItem';
import { recordResults } from '../../postgres/executions/workItem';
import { startPostgres } from '../../workers/embedded';
import { postgresUrl } from '../helpers/database';

const PLAIN = { ok: true, exitCode: 0, stdout: 'out', stderr: '', usage: null, metadata: null };

/** The store of executions as a workflow and its nodes use it, without either. */
export class Scene {
  private turn = 0;
  constructor(
    readonly pool: Pool,
    readonly id: string,
    readonly run = 'run-1',
    private readonly startedAtMs = 1_000,
  ) {}

  static async of(pool: Pool, lists: readonly (readonly string[])[], maxAttempts = 0): Promise<Scene> {
    const template = { functionId: 'c', method: 'f' };
    const { id } = await storeExecution(pool, template, lists, { maxAttempts });
    return new Scene(pool, id);
  }

  /** A round on these nodes; answers its chunks' ids, filled and ready. */
  plan(nodes: readonly string[], operator = 10): Promise<string[]> {
    return inTransaction(this.pool, async (db) => {
      const run = { id: this.run, startedAtMs: this.startedAtMs, turn: ++this.turn };
      const facts = await turns.takeTurn(db, this.id, run, operator);
      if (facts === null) throw new Error('the turn was refused');
      const made = nodes.map((node) => ({ id: randomUUID(), node }));
      await turns.insertChunks(db, this.id, facts.round + 1, facts.epoch, made);
      for (let after: number | null = -1; after !== null;)
        ({ last: after } = await turns.fillChunks(db, this.id, facts.round + 1, after));
      await turns.readyChunks(db, this.id, facts.round + 1);
      return made.map(({ id }) => id);
    });
  }

  async take(chunk: string, node: string, leaseMs = 10_000): Promise<number> {
    const taken = await chunks.takeChunk(this.pool, chunk, node, leaseMs);
    if (taken === null) throw new Error('the chunk was refused');
    return taken.epoch;
  }

  record(chunk: string, nodeId: string, epoch: number, ...results: (Partial<ItemResult> & { position: number })[]) {
    const whole = results.map((one) => ({ ...PLAIN, ...one }));
    return recordResults(this.pool, { id: chunk, nodeId, epoch }, whole);
  }

  async rows(): Promise<Record<string, unknown>[]> {
    const { rows } = await this.pool.query('select * from work_item where execution_id = $1 order by position', [
      this.id,
    ]);
    return rows as Record<string, unknown>[];
  }
  async states(): Promise<number[]> {
    return (await this.rows()).map((row) => row['state'] as number);
  }
  async execution() {
    return (await readExecution(this.pool, this.id))!;
  }
}

export const oneEach = (n: number): string[][] => Array.from({ length: n }, (_, i) => [`${i}`]);

/** A list that ends with an error after so many. */
export const breaksOff = function* (n: number, message: string): Generator<string[]> {
  yield* oneEach(n);
  throw new Error(message);
};

/** What somebody else's server may have set: texts of dates, isolation, time limits, plans. */
const FOREIGN = {
  fsync: 'off',
  timezone: 'Asia/Kolkata',
  datestyle: 'German, DMY',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '0',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '1ms',
  search_path: 'pg_catalog',
  xmloption: 'document',
  jit: 'on',
  jit_above_cost: '0',
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '2',
  max_connections: '60',
};

/**
 * The embedded Postgres of all tests, or one that is `given` by its URL: MUSTER_GIVEN_DATABASE_URL,
 * or a second server, set up otherwise, that this starts and its user then knows by its URL only.
 */
export const serverOf = async (kind: string): Promise<{ url: string; stop: () => Promise<void> }> => {
  const none = (): Promise<void> => Promise.resolve();
  if (kind !== 'given') return { url: postgresUrl(), stop: none };
  const given = process.env['MUSTER_GIVEN_DATABASE_URL'];
  if (given !== undefined) return { url: given, stop: none };
  const second = await startPostgres({ settings: FOREIGN, log: () => undefined });
  return { url: second.url, stop: () => second.stop() };
};
