import { grantNext } from '../../../activities/lanes/nextGrants';
import type { Client, StrategyName } from '../../../client';

/**
 * One submitter's side of a store, by hand: what waits, its grants, commits as settlements write
 * them.
 */
export class Bench {
  no = 0;
  constructor(
    readonly client: Client,
    readonly handlers: ReadonlyMap<string, unknown>,
  ) {}

  /** An empty store with one submitter that holds all slots. */
  async begin(slots: number, strategy: StrategyName): Promise<void> {
    const { pool } = this.client;
    await pool.query(
      'truncate dependency, lane_batch, lane_queue, member, result_page, outcome, batch, task, submitter',
    );
    await pool.query(
      `update lane_state set ready = false, due_at = null, pending = 0, deficit = 0, served = 0, granted = 0, weight = 1, saturated = false`,
    );
    await pool.query('update queuer set round = 0, grants = 0, epoch = 1');
    await pool.query(
      `insert into node (id, task_queue, handlers, started_at, seen_at) values ('n', 'q', $1, clock(), clock() + interval '1 day') on conflict do nothing`,
      [[...this.handlers.keys()]],
    );
    await this.client.setQueuer({ slots: Math.max(1, slots), strategy });
    const { rows } = await pool.query<{ no: number }>(
      `insert into submitter (queuer_id, epoch, slots, started_at, expires_at) values (0, 1, $1, clock(), clock() + interval '1 day') returning no`,
      [slots],
    );
    this.no = rows[0]!.no;
  }

  async submit(
    services: readonly string[],
    handler = 'serial',
    writes: (at: number) => string[] = () => [],
  ): Promise<void> {
    let at = 0;
    for (let from = 0; from < services.length; from += 1_000) {
      const batches = services.slice(from, from + 1_000).map((service) => {
        const id = `${handler}-${service}-${++sequence}`;
        return { service, items: [{ id, payload: { service } }], writes: writes(at++) };
      });
      await this.client.submitBatches(handler, batches);
    }
  }

  /** Batches that wait, as they were submitted. */
  async inOrder(): Promise<number[]> {
    const text = 'select batch_id as id from lane_batch order by seq';
    const { rows } = await this.client.pool.query<{ id: number }>(text);
    return rows.map(({ id }) => id);
  }

  async grant(slots: number): Promise<{ id: number; service: string }[]> {
    const { pool } = this.client;
    const asks = [{ no: this.no, epoch: 1, slots }];
    const granted = await grantNext({ pool, handlers: this.handlers, node: 'n' }, 0, asks);
    const batches = (granted.batches.get(this.no) ?? []).map(({ id }) => id);
    if (batches.length === 0) return [];
    const { rows } = await pool.query<{ id: number; service: string }>(
      'select s.batch_id as id, l.service from lane_batch s join lane l on l.id = s.lane_id where s.batch_id = any($1::bigint[])',
      [batches],
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    return batches.map((id) => byId.get(id)!);
  }

  /** As settlements write it. */
  async commit(batches: readonly { id: number }[]): Promise<void> {
    await this.client.pool.query(
      `with s as (update lane_batch set status = 10, changed_at = clock() where batch_id = any($1::bigint[]) returning lane_id, batch_id),
       b as (update batch set state = 4, dispatch = null, finished_at = clock() where id = any($1::bigint[]))
       update lane_state l set ready = true, pending = l.pending - n.n from (select lane_id, count(*)::int as n from s group by 1) n where l.lane_id = n.lane_id`,
      [batches.map(({ id }) => id)],
    );
  }
}
let sequence = 0;
