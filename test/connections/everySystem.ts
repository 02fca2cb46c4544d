import type pg from 'pg';
import pino from 'pino';
import { createClient } from '../../client';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import type { Batch, SubmitAnswer } from '../../handlers';
import { defineHandler } from '../../handlers';
import { functionsOf } from '../executions/functions';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { startMuster } from '../helpers/muster';
import { reachesStatus } from '../helpers/reachesStatus';
import { Downstream, items, okay } from '../lanes/downstream';

/** A worker and a client of all five systems, over as few connections as they are given. */

interface Job {
  to: string;
}
const target = ({ to }: Job): string => to;
const submit = async (batch: Batch): Promise<SubmitAnswer> => okay(batch);
const job = (id: string, to = 'a'): { id: string; payload: Job } => ({ id, payload: { to } });

export interface Used {
  /** Most connections of the worker's pool, and of the client's. */
  max: number;
  /** Leads an address of the database elsewhere, such as through a pooler. */
  through?: (url: string) => string;
  /** Done to the database before it is used. */
  prepare?: (pool: Pool) => Promise<void>;
  /** Done to each session of the worker and of the client before it is used. */
  open?: (session: pg.PoolClient) => void;
}

/**
 * Does some work of each system. Returns what the worker logged as a warning or worse: a wait for a
 * connection that only the waiting one could give back ends with one.
 */
export const useEverySystem = async ({
  max,
  through = (url) => url,
  prepare,
  open = () => undefined,
}: Used): Promise<string[]> => {
  const said: string[] = [];
  const placed: string[] = [];
  const jobs = defineHandler<Job>({ name: 'jobs', target, limits: { maxItems: 20 }, linger: { lingerMs: 20 }, submit });
  const partitioned = defineHandler<Job>({
    name: 'placed',
    target,
    limits: { maxItems: 20 },
    linger: { lingerMs: 20 },
    affinity: { partitions: 2 },
    submit: async (batch, { partition }) => {
      placed.push(batch.target);
      await partition?.checkpoint({ at: batch.id });
      return okay(batch);
    },
  });
  const edits = new Downstream().handler();
  const handlers = [jobs, partitioned, edits];
  // It makes the database, and drops it.
  const outer = await startMuster([], { sweepEveryMs: 0 });
  const databaseUrl = through(outer.database.url);
  await prepare?.(outer.database.pool);
  const pool = createPool({ databaseUrl, max }).on('connect', open);
  const own = createPool({ databaseUrl, max }).on('connect', open);
  const node = await startMuster(handlers, {
    pool,
    sweepEveryMs: 500,
    executions: { ...functionsOf({ echo: (args) => args.join(' ') }), rollCallMs: 500 },
    log: pino({ level: 'warn' }, { write: (line: string) => void said.push(line) }),
  });
  const client = createClient({
    databaseUrl,
    pool: own,
    handlers,
    prefix: node.prefix,
    temporal: { address: temporalAddress() },
  });
  try {
    await client.submit('jobs', job('one'));
    await client.submit(
      'jobs',
      [...Array(60).keys()].map((i) => job(`many-${i}`, `t-${i % 3}`)),
    );
    await client.submit('jobs', { ...job('after'), dependsOn: ['one'] });
    await client.submit('placed', [job('p-1', 'x'), job('p-2', 'y')]);
    const { batch } = await client.batches.submit('edits', 'po-1', items('po-1', 3));
    const { id } = await client.fanouts.open();
    const added = [...(await client.items.add(id, 100))];
    await client.fanouts.seal(id);
    await client.items.ack(added);
    const execution = await client.execute({ functionId: 'echo', method: 'run' }, [['a'], ['b']]);
    const ids = ['one', 'many-0', 'many-59', 'after', 'p-1', 'p-2'];
    const ended = await client.waitFor(ids, { timeoutMs: 90_000 });
    expect(ended.map(({ state }) => state)).toEqual(ids.map(() => 'succeeded'));
    await reachesStatus(client, batch, 'committed');
    expect(await client.waitForFanout(id, { timeoutMs: 60_000 })).toMatchObject({ state: 'complete' });
    expect(await execution.wait({ timeoutMs: 60_000 })).toMatchObject({ state: 'done', counts: { done: 2 } });
    expect(placed.length).toBeGreaterThan(0);
    await eventually(async () => (await client.partitions()).some(({ checkpoint }) => checkpoint !== null));
    await client.handlers.pause('jobs');
    await client.handlers.resume('jobs');
    expect((await client.verify({ full: true })).checks.filter(({ violations }) => violations.length > 0)).toEqual([]);
    expect(await client.explain('one')).toMatchObject({ state: 'succeeded' });
  } finally {
    await client.close();
    await node.stop();
    await Promise.all([pool.end(), own.end()]);
    await outer.stop();
  }
  return said;
};
