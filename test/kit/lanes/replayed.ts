import type { Client as TemporalClient } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { Conclusions } from '../../../activities/accepted/conclusions';
import { PollRun } from '../../../activities/accepted/poll';
import { createShared } from '../../../activities/createShared';
import type { ActivityDeps } from '../../../activities/deps';
import { ExecutionMeters } from '../../../activities/executions/meters';
import { DEFAULT_EXECUTION_SETTINGS } from '../../../activities/executions/settings';
import { grantLanes } from '../../../activities/lanes/grant';
import { Heartbeat } from '../../../activities/nodes/heartbeat';
import { submitBatches } from '../../../activities/submit';
import type { Client } from '../../../client';
import { createClient } from '../../../client';
import type { Handler } from '../../../handlers';
import { nextPollInMs } from '../../../postgres/accepted/poll';
import { readInstallation } from '../../../postgres/installation';
import type { DispatchAnswer, GrantAnswer } from '../../../workflows/messages';
import type { TestDatabase } from '../../helpers/database';
import { noPartitions } from '../../helpers/noPartitions';
import type { Clock } from '../../postgres/ring-protocol/tools/clock';
import { Requests } from '../../../workflows/temporal/requests';
import { HandlerCounts } from '../../../workflows/temporal/handlerCounts';

const LEASE_MS = 15_000;
const SILENT = new DefaultLogger('ERROR', () => undefined);
/** The only one of a store. */
const QUEUER = 0;
type Submitter = GrantAnswer['submitters'][number];

/**
 * The lanes of a real store: the product's client, turns of the queuer, submitters and looks of the
 * monitor, on Postgres. The test moves the store's clock and stands for Temporal: it starts one
 * submitter after the other, in the order in which they were granted.
 */
export class LaneWorld {
  readonly client: Client;
  private readonly deps: ActivityDeps;
  /** Granted, and not begun. */
  private submitters: { submitter: Submitter; epoch: number }[] = [];
  private isWoken = false;
  private wakeAtMs: number | null = null;
  private turn = 0;

  private constructor(
    private readonly database: TestDatabase,
    private readonly clock: Clock,
    private readonly handler: Handler,
    { slots, installation }: { slots: number; installation: string },
  ) {
    const { pool, url: databaseUrl } = database;
    const temporal = {
      withDeadline: (_: number, send: () => Promise<unknown>) => send(),
      workflow: {
        signalWithStart: async (type: string) => {
          if (type === 'queuer') this.isWoken = true;
        },
      },
    } as unknown as TemporalClient;
    this.client = createClient({ databaseUrl, handlers: [handler], pool, temporal: { client: temporal } });
    const log = pino({ level: 'silent' });
    const handlers = new Map([[handler.name, handler]]);
    const base = { pool, temporal, requests: new Requests(temporal), handlers, node: 'n', prefix: 'sim', log };
    const shared = createShared(base);
    this.deps = {
      ...base,
      ...shared,
      runs: new HandlerCounts(),
      // With more slots, a freed one is granted by the queuer: what a submitter grants itself goes
      // before what was granted to others.
      granters: slots === 1 ? shared.granters : { of: () => ({ next: () => Promise.resolve(null) }) },
      ...{ installation, leaseMs: LEASE_MS, softDeadlineMs: 60_000, callbacks: { allow: [], secret: null } },
      executions: DEFAULT_EXECUTION_SETTINGS,
      heartbeat: new Heartbeat({ pool, log }),
      ...noPartitions(pool, 'n'),
      meters: new ExecutionMeters(),
      acceptTasks: () => Promise.reject(new Error('no workflow submits here')),
      draining: new AbortController().signal,
    };
  }

  static async open(
    database: TestDatabase,
    clock: Clock,
    handler: Handler,
    queuer: { slots: number; strategy: 'single' | 'per-service' | 'one-round' | 'multi-round' },
  ): Promise<LaneWorld> {
    await database.pool.query(
      `insert into node (id, task_queue, handlers, started_at, seen_at)
       values ('n', 'q', $1, clock(), clock() + interval '1 day')`,
      [[handler.name]],
    );
    const installation = await readInstallation(database.pool);
    const world = new LaneWorld(database, clock, handler, { ...queuer, installation });
    await world.client.queuers.set(queuer);
    return world;
  }

  /** Does something with the client, and then all that it has made due. */
  async doing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      await this.client['connection'].settled();
      await this.rest();
    }
  }

  async advance(ms: number): Promise<void> {
    const untilMs = this.clock.nowMs() + ms;
    await this.rest();
    for (;;) {
      const nextMs = await this.nextMs();
      if (nextMs === null || nextMs > untilMs) break;
      await this.clock.step(Math.max(0, nextMs - this.clock.nowMs()));
      await this.rest();
    }
    await this.clock.step(untilMs - this.clock.nowMs());
    await this.rest();
  }

  close(): Promise<void> {
    return this.client.close();
  }

  private async nextMs(): Promise<number | null> {
    const pollInMs = await nextPollInMs(this.database.pool, this.handler.name);
    const times = [this.wakeAtMs, pollInMs === null ? null : this.clock.nowMs() + pollInMs];
    const known = times.filter((one) => one !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  /** Does all that is due now, in the order of a simulated world. */
  private async rest(): Promise<void> {
    for (;;) {
      const polled = await this.poll();
      const granted = await this.grant();
      const next = this.submitters.shift();
      if (next !== undefined) await this.run(next);
      else if (!polled && !granted) return;
    }
  }

  private async poll(): Promise<boolean> {
    const inMs = await nextPollInMs(this.database.pool, this.handler.name);
    if (inMs === null || inMs > 0) return false;
    const { signal } = new AbortController();
    const conclusions = new Conclusions(this.deps, this.handler, signal);
    await new PollRun(this.deps, this.handler, conclusions, { give: () => undefined }, signal, -1).run();
    await conclusions.end();
    return true;
  }

  private async grant(): Promise<boolean> {
    const isDue = this.wakeAtMs !== null && this.wakeAtMs <= this.clock.nowMs();
    if (!this.isWoken && !isDue) return false;
    this.isWoken = false;
    const { pool } = this.database;
    const answer = await grantLanes(
      { pool, leaseMs: LEASE_MS, nodes: this.deps.nodes, log: pino({ level: 'silent' }) },
      {
        ...{ queuerId: QUEUER, runId: 'run', runStartedAtMs: 1_000, turn: ++this.turn, mayClaim: true },
        live: this.submitters.map(({ submitter }) => submitter.no),
      },
    );
    this.isWoken = answer.again || answer.next === 'working';
    this.wakeAtMs = answer.dueInMs === null ? null : this.clock.nowMs() + answer.dueInMs;
    for (const submitter of answer.submitters) this.submitters.push({ submitter, epoch: answer.epoch });
    return true;
  }

  private async run({ submitter, epoch }: { submitter: Submitter; epoch: number }): Promise<void> {
    const { no, slots, handler } = submitter;
    const input = { leaderId: 0, handler, epoch, no, slots, queuerId: QUEUER };
    const environment = new MockActivityEnvironment({}, { logger: SILENT });
    const submit = (): Promise<DispatchAnswer> => submitBatches(this.deps, input);
    const { released } = await environment.run<[], DispatchAnswer, typeof submit>(submit);
    if (released) this.wakeAtMs = null;
    // A slot that is freed looks for its next batch, whether or not a lane says that it is ready.
    this.isWoken = true;
  }
}
