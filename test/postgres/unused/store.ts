import pg from 'pg';
import { checkTask } from '../../../client/tasks/checkTasks';
import { TaskInserter } from '../../../client/tasks/taskInserter';
import type { Handler } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import type { DeletedUnused } from '../../../postgres/sweeper/unusedRows';
import { UnusedRows } from '../../../postgres/sweeper/unusedRows';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

const base = {
  target: ({ to }: { to: string }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 60_000 },
  leaders: 1,
  submit: async () => ({ results: [] }),
};
export const loose = defineHandler<{ to: string }>({ ...base, name: 'loose' });
export const alone = defineHandler<{ to: string }>({ ...base, name: 'alone', leaders: 'target' });
export const ordered = defineHandler<{ to: string }>({
  ...base,
  name: 'ordered',
  service: (target) => `lane of ${target}`,
  lane: { approach: 'serial' },
});

/** A store without workers, in which time passes when a test says so. */
export class UnusedStore {
  /** It stands still during a pass, whose time is never over. */
  private passedMs = 0;
  private readonly rows = new UnusedRows(() => this.passedMs);
  private readonly sessions: pg.Client[] = [];

  private constructor(readonly database: TestDatabase) {}

  static async open(): Promise<UnusedStore> {
    const database = await createDatabase({ max: 20 });
    for (const text of [
      `create table ahead as select interval '0' as hours`,
      `create or replace function server_time() returns timestamptz language sql as
        $$ select clock_timestamp() + (select hours from ahead) $$`,
    ])
      await database.pool.query({ text });
    return new UnusedStore(database);
  }

  /** A process of this build, with what it remembers of targets. */
  process(): TaskInserter {
    return new TaskInserter(this.database.pool);
  }

  /** A session of a caller, or of a program of the version before. */
  async session(): Promise<pg.Client> {
    const session = new pg.Client({ connectionString: this.database.url, options: '-c search_path=muster' });
    await session.connect();
    this.sessions.push(session);
    return session;
  }

  async query<R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> {
    return (await this.database.pool.query<R>({ text, values })).rows;
  }

  /** The ids of the targets with these keys. */
  async targets(): Promise<Record<string, number>> {
    const rows = await this.query<{ key: string; id: number }>('select key, id from target');
    return Object.fromEntries(rows.map(({ key, id }) => [key, id]));
  }

  /** Every task is gone, as after its retention. */
  async forgetTasks(): Promise<void> {
    await this.query('truncate task, queue, delayed, held, outcome, batch, member, lane_queue, lane_batch, dependency');
  }

  /** A pass of the sweeper over everything. */
  async pass(): Promise<DeletedUnused> {
    this.passedMs += 2 * 3_600_000;
    return this.rows.look(this.database.pool);
  }

  /** The server's time goes on, by which marks and look-ups are told: that of no process does. */
  async hoursLater(hours: number): Promise<void> {
    await this.query(`update ahead set hours = hours + $1 * interval '1 hour'`, [hours]);
  }

  /** Resolves when so many sessions wait for a lock. */
  async untilWaiting(n: number): Promise<void> {
    for (const end = performance.now() + 10_000; performance.now() < end;) {
      const [row] = await this.query<{ n: number }>(
        `select count(*)::int as n
         from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      if (row!.n >= n) return;
    }
    throw new Error(`nothing waits for a lock`);
  }

  async nowMs(): Promise<number> {
    const [row] = await this.query<{ ms: number }>('select extract(epoch from server_time())::float8 * 1000 as ms');
    return row!.ms;
  }

  /** The sweeper has days, and as many passes as it needs for targets and then for their lanes. */
  async sweep(): Promise<DeletedUnused> {
    const sum = { targets: 0, lanes: 0, leaders: 0, keptForMs: 0 };
    for (let pass = 0; pass < 6; pass++) {
      const { targets, lanes, leaders, keptForMs } = await this.pass();
      sum.targets += targets;
      sum.lanes += lanes;
      sum.leaders += leaders;
      sum.keptForMs = Math.max(sum.keptForMs, keptForMs);
      await this.hoursLater(25);
    }
    return sum;
  }

  /** Stored tasks whose targets are gone: they are lost. */
  async lost(): Promise<string[]> {
    const rows = await this.query<{ id: string }>(
      'select k.id from task k where not exists (select from target t where t.id = k.target_id) order by k.id',
    );
    return rows.map(({ id }) => id);
  }

  async close(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.end().catch(() => undefined)));
    await this.database.drop();
  }
}

/** When a process looked up the oldest of the ids that it keeps, which it tells nobody. */
export const lookedUpAt = ({ targets }: TaskInserter): number =>
  (targets as unknown as { known: { lookedUpAtMs: number } }).known.lookedUpAtMs;

/** Submits tasks to one target: from 50 on by COPY. */
export const submit = (
  process: TaskInserter,
  handler: Handler,
  to: string,
  ids: readonly string[],
  more: { tx?: pg.Client; dependsOn?: string[] } = {},
): Promise<{ accepted: number }> =>
  process.store(
    handler,
    ids.map((id, i) => {
      const { dependsOn } = more;
      return checkTask(handler, { id, payload: { to }, ...(dependsOn === undefined ? {} : { dependsOn }) }, i, [])!;
    }),
    { partial: false, ...(more.tx === undefined ? {} : { tx: more.tx }) },
  );
