import { noPartitions } from '../../helpers/noPartitions';
import type { Client as TemporalClient } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import type { ClaimDeps } from '../../../activities/grouping/claim';
import { claimBatches } from '../../../activities/grouping/claim';
import { createShared } from '../../../activities/createShared';
import { ExecutionMeters } from '../../../activities/executions/meters';
import { DEFAULT_EXECUTION_SETTINGS } from '../../../activities/executions/settings';
import { Heartbeat } from '../../../activities/nodes/heartbeat';
import type { ActivityDeps } from '../../../activities/deps';
import type { Handler } from '../../../handlers';
import { ring, wake } from '../../../activities/grouping/ring';
import { tellUnsent } from '../../../activities/grouping/superseded';
import { submitBatches } from '../../../activities/submit';
import type { MonitorInput } from '../../../workflows/definitions';
import type { Client } from '../../../client';
import { createClient } from '../../../client';
import { isOutage } from './outage';
import { readInstallation } from '../../../postgres/installation';
import { wakeExpiredLeaders } from '../../../postgres/grouping/leaderWakes';
import type { Pool } from '../../../postgres/pool';
import { createPool } from '../../../postgres/pool';
import type { DispatchAnswer, DispatchInput, LeaderInput, TurnAnswer, TurnInput } from '../../../workflows/messages';
import { tapPool } from '../../chaos/judge/tap';
import type { Clock } from './tools/clock';
import { FailedRings } from './failedRings';
import { Recorder } from './tools/recorder';
import type { Breakage, Fate, Party } from './fate';
import { Death } from './death';
import { Holds } from './holds';
import type { Operations } from './leaderRun';
import { LeaderRun } from './leaderRun';
import { Monitors } from './tools/monitors';
import { TurnCounter } from './tools/turnCounter';
import { ofWorker } from './tools/ofWorker';

export const LEASE_MS = 15_000;
/** A simulated death is no news. */
const SILENT = new DefaultLogger('ERROR', () => undefined);

/**
 * The grouping loop on real connections, each part on a pool that the test can hold, break
 * and rewrite. Leader workflows are simulated, without Temporal, and the clock is the test's.
 */
export class World {
  readonly clients: Pool;
  readonly leaders: Pool;
  readonly dispatches: Pool;
  readonly client: Client;
  readonly runs = new Map<number, LeaderRun>();
  private readonly monitors: Monitors;
  /** Deaths that the net (the sweeper, in the product) has yet to make up for. */
  readonly unrung = new Set<number>();
  /** Leaders that nobody may have told of what their rows say, until they take a turn. */
  readonly silent = new Set<number>();
  sweptAtMs = 0;
  readonly failedRings = new FailedRings();
  spinning = 0;
  /** What must not happen in the simulation itself. */
  failure: unknown;
  private runNo = 0;
  closed = false;
  private active = 0;
  private readonly turns = new TurnCounter();
  private atRest: (() => void)[] = [];
  private readonly holds = new Holds();
  /** For whoever has to explain a finding. */
  readonly recorder = new Recorder();
  private readonly deps: ActivityDeps;
  private constructor(
    readonly pool: Pool,
    readonly clock: Clock,
    url: string,
    handlers: readonly Handler[],
    installation: string,
    private readonly broken: Breakage,
    private readonly fate: Fate,
  ) {
    const open = (party: Party): Pool =>
      this.tap(party, createPool({ databaseUrl: url, max: 10, applicationName: party }));
    this.clients = open('client');
    this.leaders = open('leader');
    this.dispatches = open('dispatch');
    const temporal = {
      withDeadline: (_: number, send: () => Promise<unknown>) => send(),
      workflow: { signalWithStart: (type: string, { args }: { args: unknown[] }) => this.signal(type, args) },
    } as unknown as TemporalClient;
    this.client = createClient({
      databaseUrl: url,
      handlers,
      pool: this.clients,
      temporal: { client: temporal },
      onRingFailure: (error) => this.failedRings.note(error),
    });
    const log = pino({ level: 'silent' });
    const served = new Map(handlers.map((handler) => [handler.name, handler]));
    const worker = ofWorker(temporal, log);
    const base = { pool: this.dispatches, ...worker, handlers: served, node: 'simulated', prefix: 'sim' };
    this.deps = {
      ...base,
      ...createShared(base),
      ...{ installation, leaseMs: LEASE_MS, softDeadlineMs: 60_000, callbacks: { allow: [], secret: null } },
      executions: DEFAULT_EXECUTION_SETTINGS,
      heartbeat: new Heartbeat({ pool: this.dispatches, log }),
      ...noPartitions(this.dispatches, 'simulated'),
      meters: new ExecutionMeters(),
      acceptTasks: () => Promise.reject(new Error('no workflow submits here')),
      draining: new AbortController().signal,
    };
    this.monitors = new Monitors(this.deps, clock, this);
  }

  static async open(
    database: { pool: Pool; url: string },
    clock: Clock,
    handlers: readonly Handler[],
    broken: Breakage = {},
    fate: Fate = {},
  ): Promise<World> {
    const installation = await readInstallation(database.pool);
    return new World(database.pool, clock, database.url, handlers, installation, broken, fate);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.holds.end();
    for (const run of this.runs.values()) run.terminate();
    await this.rest();
    await Promise.all([this.clients, this.leaders, this.dispatches].map((pool) => pool.end()));
  }

  /** Something is under way until the answer is called. */
  busy(): () => void {
    this.active++;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.active--;
      // Not at once: whoever ended may have woken another in the same breath.
      setImmediate(() => {
        if (this.active === 0) for (const resolve of this.atRest.splice(0)) resolve();
      });
    };
  }
  async during<T>(work: () => Promise<T>): Promise<T> {
    const done = this.busy();
    return work().finally(done);
  }
  /** A call of the client with its rings, which go on behind it. */
  async calling<T>(work: () => Promise<T>): Promise<T> {
    return this.during(() => work().finally(() => this.client['connection'].settled()));
  }
  /** Resolves when no turn, ring or dispatch is under way: every leader is asleep or over. */
  async rest(): Promise<void> {
    do {
      while (this.active > 0) await new Promise<void>((resolve) => this.atRest.push(resolve));
      await new Promise((resolve) => setImmediate(resolve)); // what has ended may have woken another
    } while (this.active > 0);
  }

  /** The next time this party comes to the statement it stops there: `reached`, then `open`. */
  hold(party: Party, when: 'before' | 'after', statement: string): { reached: Promise<void>; open: () => void } {
    return this.holds.add(party, when, statement);
  }

  /** Terminates a leader's run; the row still says that it works or waits. */
  terminate(leaderId: number): void {
    const run = this.runs.get(leaderId);
    if (run === undefined) return;
    this.silent.add(leaderId);
    this.runs.delete(leaderId);
    this.recorder.say(`leader ${leaderId}: terminated`);
    run.terminate();
  }

  /** The sweeper's two duties: wakes expired leaders, rings what dead clients did not. */
  async sweep(): Promise<void> {
    this.sweptAtMs = this.clock.nowMs();
    const deps = { ...this.deps, pool: this.pool };
    const targets = [...this.unrung];
    this.unrung.clear();
    await this.during(() => ring(deps, targets));
    if (this.broken.noExpiry === true) return;
    await this.during(async () => wake(deps, await wakeExpiredLeaders(this.pool, 200, LEASE_MS)));
  }

  /** Wakes a leader though nothing is due: it takes a turn and goes back to sleep. */
  start(leaderId: number, handler: string, name = '0'): void {
    void this.signal('leader', [{ leaderId, handler, name, dueInMs: 0, turnsPerRun: 500 }]);
  }

  takeTurn(input: TurnInput): Promise<TurnAnswer> {
    const { deps } = this;
    const tell: ClaimDeps['tellUnsent'] = (handler, ended) => tellUnsent(deps, handler, ended);
    return claimBatches({ ...deps, pool: this.leaders, wake: (woken) => wake(deps, woken), tellUnsent: tell }, input);
  }

  private async signal(type: string, [input]: unknown[]): Promise<void> {
    if (type === 'monitor') this.monitors.look((input as MonitorInput).handler);
    if (type !== 'leader') return;
    const leader = input as LeaderInput;
    try {
      await this.fate.wake?.(leader.leaderId);
    } catch (error) {
      this.silent.add(leader.leaderId);
      throw error;
    }
    const run = this.runs.get(leader.leaderId);
    if (run === undefined) this.begin(leader);
    else run.look();
  }

  private begin(input: LeaderInput): void {
    if (this.closed) return;
    const no = ++this.runNo;
    const operations: Operations = {
      clock: this.clock,
      busy: () => this.busy(),
      takeTurn: (turn) => this.repeatTurn(turn),
      submit: (dispatch) => this.during(() => this.carry(dispatch)),
      turning: (leaderId) => this.silent.delete(leaderId),
      turned: (leaderId, worked) => this.endTurn(leaderId, worked),
      ended: (run, end) => {
        if (this.runs.get(input.leaderId) !== run) return;
        this.runs.delete(input.leaderId);
        if (end === 'again') this.begin({ ...input, dueInMs: 0 });
      },
    };
    this.recorder.say(`leader ${input.leaderId}: run-${no} begins`);
    const run = new LeaderRun(input, `run-${no}`, no * 1_000, operations, this.broken.leader);
    this.runs.set(input.leaderId, run);
    run.lead().catch((error: unknown) => (this.failure ??= error));
  }

  /** A dispatch that dies between its settlement and its ring leaves work that the net rings. */
  private async carry(dispatch: DispatchInput): Promise<DispatchAnswer> {
    try {
      return await new MockActivityEnvironment({}, { logger: SILENT }).run(() => submitBatches(this.deps, dispatch));
    } catch (error) {
      if (!(error instanceof Death) && !isOutage(error)) this.failure ??= error;
      const { rows } = await this.pool.query<{ id: number }>('select id from target where leader_id = $1', [
        dispatch.leaderId,
      ]);
      for (const { id } of rows) this.unrung.add(id);
      throw error;
    }
  }

  /** A local activity is tried again, with the same arguments, until it answers. */
  private async repeatTurn(input: TurnInput): Promise<TurnAnswer> {
    for (;;) {
      try {
        return await (this.fate.turn?.(this, () => this.takeTurn(input)) ?? this.takeTurn(input));
      } catch (error) {
        if (this.closed || !(error instanceof Death || isOutage(error))) throw error;
      }
    }
  }

  private endTurn(leaderId: number, worked: boolean): void {
    if (!this.turns.spins(leaderId, worked, this.clock.nowMs())) return;
    this.spinning++;
    for (const run of this.runs.values()) run.terminate();
    this.runs.clear();
  }

  private tap(party: Party, pool: Pool): Pool {
    const { skip, rewrite, seen } = this.broken;
    return tapPool(pool, {
      begun: () => this.busy(), // whoever sends it, and whether or not that is still waited for
      before: async (statement) => {
        this.recorder.note(party, 'before', statement);
        await this.fate.before?.(party, statement).catch((error: unknown) => {
          this.recorder.note(party, 'died before', statement);
          throw error;
        });
        await this.holds.stopAt(party, 'before', statement.name);
      },
      after: async (statement) => {
        this.recorder.note(party, 'after', statement);
        await this.holds.stopAt(party, 'after', statement.name);
        await this.fate.after?.(party, statement);
      },
      instead: ({ name }) => skip?.[party]?.[name],
      rewrite: rewrite && ((name, text) => rewritten(name, text, rewrite)),
      seen,
    });
  }
}

/** A scene finds its words however the statement is laid out and commented. */
const rewritten = (name: string, text: string, rewrite: (name: string, text: string) => string): string => {
  const plain = text.replaceAll(/\/\*.*?\*\//g, '').replaceAll(/\s+/g, ' ');
  const broken = rewrite(name, plain);
  return broken === plain ? text : broken;
};
