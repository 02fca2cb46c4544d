import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { Client } from '../../client';
import type { Node } from '../../workers/node';
import { leaderWorkflowId, monitorWorkflowId, queuerWorkflowId } from '../../workflows/naming';
import type { Clock } from './clock';
import { FlowingClock } from './clock';
import type { TestDatabase } from './database';
import { eventually } from './eventually';

type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

export interface Skipping {
  env: TestWorkflowEnvironment;
  database: TestDatabase;
  client: Client;
  node: Node;
  prefix: string;
  /**
   * Sets the origin to now, when nothing is under way: times of `now` and `skipTo` count from here.
   */
  begin(): Promise<void>;
  /** Milliseconds since `begin`, on the database's clock. */
  now(): Promise<number>;
  /** The database's clock as Unix ms, for `notBefore`. */
  unixMs(ms: number): number;
  /**
   * Skips both clocks to `ms` after `begin`, and waits until all that happens on the way has
   * happened. Never concurrently.
   */
  skipTo(ms: number): Promise<void>;
  /** Until no workflow task, activity or dispatch is under way. */
  settle(): Promise<void>;
  /** Events of the current (or last) run of a leader. */
  history(handler: string, name: string): Promise<HistoryEvent[]>;
  /**
   * `created_at` (ms since `begin`), size and reason of the batches of a handler formed since
   * `begin`, oldest first.
   */
  batches(handler: string): Promise<{ at: number; n: number; reason: number; target: string }[]>;
  stop(): Promise<void>;
}

const NOT_STARTED: HistoryEvent[] = [];
const GRPC_NOT_FOUND = 5;
/** A timer is set late by what its workflow task took; more than this is none of that. */
const TIMER_LATE_MS = 30_000;

/** A wake that has not come through after this is lost, and the test is about that. */
const WAKE_MS = 3_000;

export class SkippingMuster implements Omit<Skipping, 'stop'> {
  private origin = 0;
  private broken: Error | null = null;
  /** Of the server's clock before the database's, when nothing was under way. */
  private serverAheadMs = 0;

  constructor(
    readonly env: TestWorkflowEnvironment,
    readonly database: TestDatabase,
    readonly client: Client,
    readonly node: Node,
    readonly prefix: string,
    private readonly clock: Clock,
  ) {}

  async begin(): Promise<void> {
    await this.settle();
    // A new instant, so that nothing of before shares it.
    await this.clock.set(Math.floor((await this.clock.unixMs()) / 1_000) * 1_000 + 1_000);
    this.origin = await this.clock.unixMs();
    this.serverAheadMs = (await this.env.currentTimeMs()) - this.origin;
    // Its heartbeats come in real time: after a skip the node would be dead to whoever looks first.
    await this.database.pool.query('update node set seen_at = clock()');
  }
  async now(): Promise<number> {
    return (await this.clock.unixMs()) - this.origin;
  }
  unixMs(ms: number): number {
    return this.origin + ms;
  }

  async skipTo(ms: number): Promise<void> {
    const until = this.origin + ms;
    await this.settle();
    if (this.clock instanceof FlowingClock) {
      await this.env.sleep(Math.max(0, until - (await this.clock.unixMs())));
      return this.settle();
    }
    for (let now = await this.clock.unixMs(); now < until;) {
      const wakeAt = await this.nextWakeAt();
      now = wakeAt !== null && wakeAt < until ? wakeAt : until;
      await this.clock.set(now);
      await this.followTo(now);
    }
  }

  /**
   * Skips the server as far as the database's clock has stepped. The server's own clock goes on
   * while something works, so that its timers are set and fire a little late: it goes on, in small
   * steps, until every leader whose time has come has looked.
   */
  private async followTo(unixMs: number): Promise<void> {
    const targetMs = unixMs + this.serverAheadMs;
    await this.sleepServer(targetMs - (await this.env.currentTimeMs()));
    for (let step = 10; !(await this.haveAllLooked(unixMs)); step *= 2) {
      const overMs = (await this.env.currentTimeMs()) - targetMs;
      if (overMs > TIMER_LATE_MS)
        throw new Error(`${await this.picture()}: one waits until ${unixMs - this.origin} and does not look`);
      await this.sleepServer(step);
    }
  }

  /**
   * Settles, and says whether nobody waits for a time that has come. A leader may look between the
   * two: then what it has begun is waited for, too, or the clock would step away under its calls.
   */
  private async haveAllLooked(unixMs: number): Promise<boolean> {
    await this.settle();
    if (await this.isSomeoneLate(unixMs)) return false;
    await this.settle();
    return !(await this.isSomeoneLate(unixMs));
  }
  private async sleepServer(ms: number): Promise<void> {
    if (ms > 0) await this.env.sleep(Math.ceil(ms));
  }

  async settle(): Promise<void> {
    if (this.broken !== null) throw this.broken; // a run that the server broke never gets quiet again: not 30 s for every later test
    let quiet = 0;
    const begun = performance.now();
    await eventually(
      async () => {
        // Twice in a row: a look at several workflows is not one instant.
        const isQuiet =
          (await this.isQuiet()) && (performance.now() - begun > WAKE_MS || !(await this.isSomeoneWoken()));
        quiet = isQuiet ? quiet + 1 : 0;
        return quiet >= 2;
      },
      { everyMs: 5, timeoutMs: 60_000, what: () => this.picture() },
    ).catch((error: Error) => {
      throw (this.broken = error);
    });
  }

  async history(handler: string, name: string): Promise<HistoryEvent[]> {
    const { rows } = await this.database.pool.query<{ id: number }>(
      'select l.id from leader l join handler h on h.id = l.handler_id where h.name = $1 and l.name = $2',
      [handler, name],
    );
    return this.eventsOf(leaderWorkflowId(this.prefix, handler, name, rows[0]!.id));
  }

  async batches(handler: string): Promise<{ at: number; n: number; reason: number; target: string }[]> {
    const { rows } = await this.database.pool.query<{ at: number; n: number; reason: number; target: string }>(
      `select extract(epoch from b.created_at)::float8 * 1000 - $2 as at, b.n, b.reason, t.key as target
       from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
       where h.name = $1 and b.created_at >= to_timestamp($2::float8 / 1000) order by b.id`,
      [handler, this.origin],
    );
    return rows;
  }

  private async eventsOf(workflowId: string): Promise<HistoryEvent[]> {
    try {
      return (await this.env.client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];
    } catch (error) {
      if (error instanceof WorkflowNotFoundError || (error as { code?: number }).code === GRPC_NOT_FOUND)
        return NOT_STARTED;
      throw error;
    }
  }

  /** In the store, and its signal may be on its way. */
  private async isSomeoneWoken(): Promise<boolean> {
    return (await this.database.pool.query('select from leader where state = 1')).rows.length > 0;
  }
  private async isSomeoneLate(unixMs: number): Promise<boolean> {
    const wakeAt = await this.nextWakeAt();
    return wakeAt !== null && wakeAt <= unixMs;
  }
  private async nextWakeAt(): Promise<number | null> {
    const { rows } = await this.database.pool.query<{ at: number | null }>(
      // Leaders, the queuer, and monitors of batches in lanes.
      `select extract(epoch from min(at))::float8 * 1000 as at from (select wake_at as at from leader where state = 2 union all select wake_at from queuer where state = 2
         union all select poll_at from batch where leader_id = 0 and state = 1 and reference is not null) w`,
    );
    return rows[0]!.at;
  }

  private async isQuiet(): Promise<boolean> {
    const { rows } = await this.database.pool.query<{ id: number; handler: string; name: string; busy: boolean }>(
      // The server's clock goes on while the database's stands: a leader with a short wait looks
      // again and again, finds the same, and on a slow machine is never seen between two looks. It
      // is at rest all the same.
      `select l.id, h.name as handler, l.name, exists (select from dispatch d where d.leader_id = l.id) as busy
       from leader l join handler h on h.id = l.handler_id
       where (l.epoch > 0 or l.state <> 0) and not (l.state = 2 and l.wake_at > clock() and l.wake_at <= clock() + interval '1 s'
         and not exists (select from dispatch d where d.leader_id = l.id))`,
    );
    if (rows.some((row) => row.busy)) return false;
    for (const { id, handler, name } of rows)
      if (isUnderWay(await this.eventsOf(leaderWorkflowId(this.prefix, handler, name, id)))) return false;
    return this.areLanesQuiet();
  }

  private async areLanesQuiet(): Promise<boolean> {
    const { rows } = await this.database.pool.query<{ busy: boolean; used: boolean; handlers: string[] }>(
      `select exists (select from submitter) as busy, exists (select from queuer where epoch > 0 or state <> 0) as used,
         array(select distinct h.name from lane_batch s join handler h on h.id = s.handler_id) as handlers`,
    );
    const { busy, used, handlers } = rows[0]!;
    if (busy) return false;
    const ids = used
      ? [queuerWorkflowId(this.prefix, 0), ...handlers.map((name) => monitorWorkflowId(this.prefix, name))]
      : [];
    for (const id of ids) if (isUnderWay(await this.eventsOf(id))) return false;
    return true;
  }

  private async picture(): Promise<string> {
    const { rows } = await this.database.pool.query(
      'select name, state, epoch, turn, answer, (select count(*) from dispatch d where d.leader_id = l.id) as dispatches from leader l',
    );
    return `quiet; leaders are ${JSON.stringify(rows)}; runs under way: ${JSON.stringify(await this.runsUnderWay())}`;
  }

  /** The last events of the leaders that are not at rest: where a run stopped. */
  private async runsUnderWay(): Promise<string[]> {
    const { rows } = await this.database.pool.query<{ id: number; handler: string; name: string }>(
      `select l.id, h.name as handler, l.name from leader l join handler h on h.id = l.handler_id
       where l.state <> 0 or exists (select from dispatch d where d.leader_id = l.id)`,
    );
    const runs: string[] = [];
    for (const { id, handler, name } of rows) {
      const events = await this.eventsOf(leaderWorkflowId(this.prefix, handler, name, id));
      runs.push(`${handler}/${name}: ${events.slice(-LAST_EVENTS).map(toldOf).join(', ')}`);
    }
    return runs;
  }
}

const LAST_EVENTS = 15;

/** `12 activityTaskScheduled at 2026-01-01T00:00:00.000Z`. */
const toldOf = (event: HistoryEvent): string => {
  const kind = Object.keys(event).find((key) => key.endsWith('EventAttributes')) ?? 'event';
  const at = new Date(Number(event.eventTime?.seconds ?? 0) * 1_000 + (event.eventTime?.nanos ?? 0) / 1e6);
  return `${String(event.eventId)} ${kind.replace('EventAttributes', '')} at ${at.toISOString()}`;
};

/** A workflow task or an activity was begun and not ended. */
const isUnderWay = (events: readonly HistoryEvent[]): boolean => {
  const began = events.filter(
    (e) => e.workflowTaskScheduledEventAttributes != null || e.activityTaskScheduledEventAttributes != null,
  ).length;
  const ended = events.filter(
    (e) =>
      e.workflowTaskCompletedEventAttributes != null ||
      e.workflowTaskFailedEventAttributes != null ||
      e.workflowTaskTimedOutEventAttributes != null ||
      e.activityTaskCompletedEventAttributes != null ||
      e.activityTaskFailedEventAttributes != null ||
      e.activityTaskTimedOutEventAttributes != null ||
      e.activityTaskCanceledEventAttributes != null,
  ).length;
  return began > ended;
};
