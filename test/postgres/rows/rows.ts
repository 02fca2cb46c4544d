import type pg from 'pg';
import type { Pool } from '../../../postgres/pool';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** A time that is so far from now. */
export const at = (inMs: number): Date => new Date(Date.now() + inMs);

type Columns = Readonly<Record<string, unknown>>;

/** A target, and whose it is. */
export interface Place {
  handlerId: number;
  leaderId: number;
  targetId: number;
}
/** The target that feeds a lane. */
export interface LanePlace extends Place {
  laneId: number;
}

const HANDLER: Columns = {
  leaders: 1,
  max_items: 10,
  linger_ms: 0,
  per_target: 1,
  per_handler: 10,
  retention_ms: 3_600_000,
  timeout_ms: 1_000,
};

/**
 * A store of rows that a test writes by hand, for what a statement promises whoever calls it:
 * nothing of the product moves them. A row has as little as its table takes, but for the columns
 * that are given.
 */
export class Rows {
  private seq = 0;

  private constructor(private readonly database: TestDatabase) {}

  static async open(): Promise<Rows> {
    return new Rows(await createDatabase());
  }

  get pool(): Pool {
    return this.database.pool;
  }

  async query<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    return (await this.pool.query<R>({ text, values })).rows;
  }

  /** Inserts a row, and returns all of it. */
  async insert(table: string, columns: Columns): Promise<pg.QueryResultRow> {
    const names = Object.keys(columns);
    const places = names.map((_, i) => `$${i + 1}`);
    const rows = await this.query<pg.QueryResultRow>(
      `insert into ${table} (${names.join(', ')}) values (${places.join(', ')}) returning *`,
      Object.values(columns),
    );
    return rows[0]!;
  }

  /** A handler of this name, with a leader and a target. */
  async place(name: string, columns: { handler?: Columns; target?: Columns } = {}): Promise<Place> {
    const handler = await this.insert('handler', { ...HANDLER, name, ...columns.handler });
    const leader = await this.insert('leader', { handler_id: handler.id, name: '0' });
    return this.target({ handlerId: handler.id, leaderId: leader.id }, 'to', columns.target);
  }

  /** Another target of the same leader. */
  async target(
    { handlerId, leaderId }: Pick<Place, 'handlerId' | 'leaderId'>,
    key: string,
    columns: Columns = {},
  ): Promise<Place> {
    const target = await this.insert('target', { handler_id: handlerId, leader_id: leaderId, key, ...columns });
    return { handlerId, leaderId, targetId: target.id };
  }

  /** A task that waits nowhere; returns its seq. */
  async task({ targetId }: Pick<Place, 'targetId'>, columns: Columns = {}): Promise<number> {
    const seq = ++this.seq;
    const row = { seq, id: `task-${seq}`, target_id: targetId, bytes: 1, payload: '{}', created_at: at(0), ...columns };
    return (await this.insert('task', row)).seq;
  }

  /** An open batch that was not sent yet; of a task that is no row, if no members are given. */
  async batch({ targetId, leaderId }: Place, columns: Columns = {}): Promise<number> {
    const members = (columns['members'] as number[] | undefined) ?? [++this.seq];
    const n = members.length;
    const row = { target_id: targetId, leader_id: leaderId, epoch: 1, turn: 1, reason: 3, members, n };
    return (await this.insert('batch', { ...row, bytes: n, weight: n, created_at: at(0), ...columns })).id;
  }

  /** A serial lane of the handler, with a target that feeds it. */
  async lane(
    place: Place,
    service: string,
    { lane = {}, state = {} }: { lane?: Columns; state?: Columns } = {},
  ): Promise<LanePlace> {
    const kinds = { kind: 0, approach: 1, on_invalid: 0 };
    const { id: laneId } = await this.insert('lane', { service, handler_id: place.handlerId, ...kinds, ...lane });
    await this.insert('lane_state', { lane_id: laneId, queuer_id: 0, ...state });
    return { ...(await this.target(place, service, { lane_id: laneId })), laneId };
  }

  /** A batch of the lane; returns its id. */
  async laneBatch(
    { laneId, ...place }: LanePlace,
    columns: { seq: number; status: number; batch?: Columns },
  ): Promise<number> {
    const { seq, status, batch } = columns;
    const id = await this.batch(place, { leader_id: 0, ...batch });
    const ids = { batch_id: id, lane_id: laneId, target_id: place.targetId, handler_id: place.handlerId };
    await this.insert('lane_batch', { ...ids, seq, status, changed_at: at(-1_000), weight: 1, reads: [], writes: [] });
    return id;
  }

  /** Says whether this ends by itself, or waits for a lock that another session has. */
  async whether(work: Promise<unknown>): Promise<'ends' | 'waits'> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    void work.then(over, over);
    return eventually<'ends' | 'waits'>(async () => {
      if (isOver) return 'ends';
      const waiting = await this.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return waiting.length > 0 && 'waits';
    });
  }

  close(): Promise<void> {
    return this.database.drop();
  }
}
