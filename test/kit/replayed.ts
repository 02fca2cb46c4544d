import { flushReasonName } from '../../workflows/planning/states';
import type { TestDatabase } from '../helpers/database';
import type { Clock } from '../postgres/ring-protocol/tools/clock';
import { World } from '../postgres/ring-protocol/world';
import type { Scenario, Story } from './scenario';
import { EPILOGUE_MS, handlerOf, inputOf, onlyStale } from './scenario';

/**
 * Plays a scenario on the real store: the product's client, claims and dispatches, on Postgres; the
 * test moves the store's clock, and stands for Temporal's timers.
 */
export class Replay {
  private no = 0;

  constructor(
    private readonly database: TestDatabase,
    private readonly clock: Clock,
  ) {}

  async play(scenario: Scenario): Promise<Story> {
    const name = `s${++this.no}`;
    const { handler, downstream } = handlerOf(scenario, name);
    const world = await World.open(this.database, this.clock, [handler]);
    const begunMs = this.clock.nowMs();
    let next = 0;
    try {
      for (const step of scenario.steps) {
        const target = 'target' in step && step.target !== null ? { target: step.target } : {};
        if (step.kind === 'submit') {
          const tasks = step.tasks.map((task) => ({
            ...inputOf(task, next++, (place) => `${name}/t${place}`),
            ...(task.inMs === null ? {} : { notBefore: this.clock.nowMs() + task.inMs }),
          }));
          await world.calling(() => world.client.submit(handler, tasks));
        } else if (step.kind === 'complete') {
          const oldest = downstream.takeOldest();
          if (oldest !== null) await world.calling(() => world.client.complete(handler.name, oldest).catch(onlyStale));
        } else if (step.kind === 'advance') await this.advance(world, step.ms);
        else await this.steer(world, name, step.kind, target, step.kind === 'set' ? step.overrides : null);
        await world.rest();
        if (world.failure !== undefined) throw world.failure;
      }
      await this.advance(world, EPILOGUE_MS);
      return await this.story(name, begunMs);
    } finally {
      await world.close();
    }
  }

  private async steer(
    world: World,
    handler: string,
    kind: 'pause' | 'resume' | 'flush' | 'set',
    { target }: { target?: string },
    overrides: Record<string, number> | null,
  ): Promise<void> {
    const { client } = world;
    await world.calling(async () => {
      if (kind === 'pause') await client.pause(handler, { target });
      else if (kind === 'resume') await client.resume(handler, { target });
      else if (kind === 'flush') await client.flush(handler, target);
      else await client.setTarget(handler, target!, overrides);
    });
  }

  private async advance(world: World, ms: number): Promise<void> {
    const untilMs = this.clock.nowMs() + ms;
    for (;;) {
      const atMs = this.clock.nextTimerMs();
      if (atMs === null || atMs > untilMs) break;
      await this.clock.step(Math.max(0, atMs - this.clock.nowMs()));
      await world.rest();
      if (world.failure !== undefined) throw world.failure;
    }
    await this.clock.step(untilMs - this.clock.nowMs());
    await world.rest();
  }

  private async story(handler: string, begunMs: number): Promise<Story> {
    const { pool } = this.database;
    const since = (at: string): string => `extract(epoch from ${at})::float8 * 1000 - $2`;
    const { rows: batches } = await pool.query<Story['batches'][number] & { reason: number }>(
      `select ${since('b.created_at')} as "atMs", t.key as target, b.reason,
         array(
           select k.id from unnest(b.members) with ordinality u (seq, place) join task k using (seq)
           order by u.place) as tasks
       from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
       where h.name = $1 order by b.id`,
      [handler, begunMs],
    );
    const { rows: tasks } = await pool.query<{ id: string; state: string; attempts: number; endedAtMs: number | null }>(
      `select k.id, s.state, s.attempts, s."endedAtMs" from task k join target t on t.id = k.target_id
         join handler h on h.id = t.handler_id cross join lateral (
           select case o.state when 4 then 'succeeded' when 5 then 'failed' when 6 then 'dead' when 7 then 'cancelled'
             else '' end as state,
             o.attempts::int as attempts, ${since('o.at')} as "endedAtMs" from outcome o where o.seq = k.seq
           union all select case b.state when 4 then 'succeeded' when 5 then 'failed' when 3 then 'unknown'
               else case when b.attempt > 0 then 'in-progress' else 'batched' end end,
             (m.attempts + b.counted)::int, ${since('b.finished_at')}
             from member m join batch b on b.id = m.batch_id where m.seq = k.seq
           union all select 'created', q.attempts::int, null from queue q where q.seq = k.seq
           union all select 'created', 0, null from held e where e.seq = k.seq
           union all select 'created', d.attempts::int, null from delayed d where d.seq = k.seq) s
       where h.name = $1 order by k.seq`,
      [handler, begunMs],
    );
    const short = (id: string): string => id.slice(handler.length + 1);
    return {
      batches: batches.map(({ reason, tasks: ids, ...batch }) => ({
        ...batch,
        reason: flushReasonName(reason),
        tasks: ids.map(short),
      })),
      tasks: Object.fromEntries(tasks.map(({ id, ...task }) => [short(id), task])),
    };
  }
}
