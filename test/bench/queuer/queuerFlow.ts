import type pg from 'pg';
import { createClient } from '../../../client';
import type { Client } from '../../../client';
import { startChild } from '../rig/child';
import { actionsSince, readActions } from '../measure';
import type { FlowKind } from './queuerHandler';
import { flowHandler, LANE_PREFIX } from './queuerHandler';
import { script } from '../rig/servers';

export interface Flow {
  batches: number;
  seconds: number;
  batchesPerSecond: number;
  actionsPerBatch: number;
  /** Calls of the downstream that submit. */
  sentPerBatch: number;
  /** Sent before the one ahead of it in its lane had ended. */
  overtaken: number;
}

export interface FlowCase {
  kind: FlowKind;
  batches: number;
  lanes: number;
  submitters: number;
}

/**
 * The same batches through the real workflow: a worker process, Temporal and Postgres, and a
 * downstream that takes no time.
 */
export class FlowBench {
  private sequence = 0;
  private constructor(
    readonly client: Client,
    private readonly metricsUrl: string,
    readonly close: () => Promise<void>,
  ) {}

  static async open(
    databaseUrl: string,
    temporal: { address: string; metricsUrl: string },
    nodeArgs: string[] = [],
  ): Promise<FlowBench> {
    const worker = startChild(script('queuer/queuerWorker'), nodeArgs);
    await worker.ask('open', { databaseUrl, temporalAddress: temporal.address });
    const client = createClient({
      databaseUrl,
      handlers: [flowHandler('answers'), flowHandler('accepts')],
      prefix: LANE_PREFIX,
      temporal: { address: temporal.address },
    });
    return new FlowBench(client, temporal.metricsUrl, async () => {
      await client.close();
      await worker.stop();
    });
  }

  /** Submitted while everything is paused; the clock starts with the resume. */
  async run({ kind, batches, lanes, submitters }: FlowCase): Promise<Flow> {
    const { client } = this;
    await client.setQueuer({ slots: submitters, strategy: 'one-round' });
    await client.pauseQueuer();
    const last = await lastBatch(client.pool);
    for (let from = 0; from < batches; from += 1_000)
      await client.submitBatches(
        kind,
        Array.from({ length: Math.min(1_000, batches - from) }, (_, i) => {
          const service = `${kind}-${(from + i) % lanes}`;
          return { service, items: [{ id: `${kind}-${++this.sequence}`, payload: { service } }] };
        }),
      );
    await client.pool.query('analyze');
    const before = await readActions(this.metricsUrl);
    const startedAt = performance.now();
    await client.resumeQueuer();
    await allEnded(client.pool);
    const seconds = (performance.now() - startedAt) / 1_000;
    const actions = Object.values(actionsSince(before, await readActions(this.metricsUrl))).reduce((a, b) => a + b, 0);
    return {
      batches,
      seconds: Number(seconds.toFixed(2)),
      batchesPerSecond: Number((batches / seconds).toFixed(1)),
      actionsPerBatch: Number((actions / batches).toFixed(3)),
      ...(await sentSince(client.pool, last)),
    };
  }
}

const lastBatch = async (pool: pg.Pool): Promise<number> =>
  (await pool.query<{ last: number }>('select coalesce(max(id), 0)::float8 as last from batch')).rows[0]!.last;

/** An attempt is a call, or the one look at what was accepted. */
const sentSince = async (pool: pg.Pool, last: number): Promise<Pick<Flow, 'sentPerBatch' | 'overtaken'>> => {
  const { rows } = await pool.query<Pick<Flow, 'sentPerBatch' | 'overtaken'>>(
    `select avg(attempt - looks)::float8 as "sentPerBatch",
       (count(*) filter (where started_at < ended_before))::int as overtaken
     from (select b.attempt, (b.reference is not null)::int as looks, b.started_at,
         lag(s.changed_at) over (partition by s.lane_id order by s.seq) as ended_before
       from batch b join lane_batch s on s.batch_id = b.id where b.id > $1) x`,
    [last],
  );
  return rows[0]!;
};

const allEnded = async (pool: pg.Pool): Promise<void> => {
  for (;;) {
    const { rows } = await pool.query<{ open: boolean }>(
      'select exists (select from lane_batch where status < 10) as open',
    );
    if (!rows[0]!.open) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
