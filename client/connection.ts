import type { Client as TemporalClient } from '@temporalio/client';
import { workOffEnded } from '../activities/grouping/dependents';
import type { Released } from '../activities/grouping/dependents';
import { createHomes } from '../activities/homes';
import type { OutcomesTold } from '../activities/outcomes/told';
import type { Homes } from '../activities/shared';
import { sealerOf } from '../handlers/codec/sealer';
import type { Sealer } from '../handlers/codec/sealer';
import { isContract } from '../handlers/contracts/defineContract';
import { isHandler } from '../handlers/contracts/implement';
import type { Hooks } from '../handlers/hooks/types';
import type { Contract, Handler } from '../handlers/types';
import { WAKE_LEASE_MS } from '../postgres/grouping/ring';
import { checkSchema } from '../postgres/migrating/migrate';
import { Beside } from '../postgres/beside';
import type { Pool, Queryable } from '../postgres/pool';
import { borrowPool, createPool } from '../postgres/pool';
import { Coalescer } from '../postgres/sharing/coalescer';
import { Behind } from '../workflows/behind';
import { DEFAULT_PREFIX } from '../workflows/naming';
import { Requests } from '../workflows/temporal/requests';
import { checkHooks, checkWhole } from './arguments';
import type { ClientOptions } from './clientOptions';
import { connectTemporal } from './connectTemporal';
import type { ClientContext } from './context';
import { InvalidArgumentError, UnknownHandlerError } from './errors';
import { LaneRinger } from './lanes/ringer';
import type { Act } from './operations/auditLog';
import { AuditLog, osUser } from './operations/auditLog';
import { wakeNotifierOf } from './operations/wakeNotifier';
import type { Rung } from './tasks/submitResult';
import { TaskInserter } from './tasks/taskInserter';
import { Ringer } from './tasks/ringer';
import type { FailureTexts } from './tasks/failureTexts';
import { withFailureTexts } from './tasks/failureTexts';
import { checkTransaction } from './transactions/check';

/** What the nouns of a client share: the database pool, the Temporal client, rings and handlers. */
export class Connection implements ClientContext {
  readonly pool: Pool;
  readonly prefix: string;
  readonly schema: string;
  readonly handlers: ReadonlyMap<string, Contract>;
  readonly hooks: Hooks | undefined;
  readonly sealer: Sealer | null;
  readonly told: OutcomesTold | undefined;
  readonly inserter: TaskInserter;
  readonly laneRinger: LaneRinger;
  /** What completions are written through. */
  readonly homes: Homes;
  readonly audit: AuditLog;
  private readonly beside: Beside;
  private readonly behind: Behind;
  private readonly ringer: Ringer;
  private readonly releases = new Coalescer<true>(() =>
    workOffEnded(this.pool, (released) => this.tellReleased(released)),
  );
  private schemaChecked: Promise<void> | null = null;
  private requestsMemo: Promise<Requests> | null = null;

  constructor(private readonly options: ClientOptions) {
    this.prefix = options.prefix ?? DEFAULT_PREFIX;
    this.schema = options.schema ?? 'muster';
    this.pool =
      options.pool === undefined
        ? createPool({
            databaseUrl: options.databaseUrl,
            schema: options.schema,
            max: checkWhole('maxConnections', options.maxConnections ?? 10, 1, 1_000),
            applicationName: 'muster client',
          })
        : borrowPool(options.pool, this.schema);
    this.beside = new Beside(this.pool);
    this.handlers = new Map((options.handlers ?? []).map((handler) => [handler.name, handler]));
    this.hooks = checkHooks(options.hooks);
    this.sealer = sealerOf(options);
    this.told = options.told;
    const { schema, sealer, told } = this;
    this.homes = createHomes(this.pool, { sealer, outcomes: told });
    this.inserter = new TaskInserter(this.pool, { schema, sealer, beside: () => this.beside.pool() });
    this.behind = new Behind(() => this.requests(), options.onRingFailure ?? (() => undefined));
    this.ringer = new Ringer(this.pool, this.behind, this.prefix, WAKE_LEASE_MS);
    this.audit = new AuditLog(this.pool, { who: options.actor ?? osUser(), door: options.door ?? 'client' });
    this.laneRinger = new LaneRinger(this.pool, this.behind, this.prefix);
  }

  /** Returns the Temporal client, and connects on first use. */
  async temporal(): Promise<TemporalClient> {
    return (await this.requests()).temporal;
  }

  private requests(): Promise<Requests> {
    this.requestsMemo ??= connectTemporal(this.options.temporal).then(
      (temporal) => new Requests(temporal),
      (error: unknown) => {
        this.requestsMemo = null;
        throw error;
      },
    );
    return this.requestsMemo;
  }

  /**
   * Returns the contract of this name, which may be a handler; one that is given itself need not be
   * among those of the client. Throws `UnknownHandlerError`.
   */
  handler(named: string | Contract): Contract {
    const name = typeof named === 'string' ? named : named.name;
    const handler = this.handlers.get(name) ?? (isContract(named) ? named : undefined);
    if (handler === undefined) throw new UnknownHandlerError(name, [...this.handlers.keys()]);
    return handler;
  }

  /** Returns the handler of this name with the code of its calls. Throws as `handler` does. */
  implementation(name: string): Handler {
    const handler = this.handler(name);
    if (isHandler(handler)) return handler;
    throw new InvalidArgumentError(
      'handler',
      'a handler, which says what becomes of results',
      `the contract "${name}"`,
      'Give the client what implement or defineHandler returns.',
    );
  }

  /**
   * Checks, once per client, that the tables exist in a version that this program knows, and writes
   * down the change that is being made, if one is.
   */
  async ready(): Promise<void> {
    await this.schemaReady(() => this.pool);
    await this.audit.begin();
  }

  private schemaReady(pool: () => Pool): Promise<void> {
    this.schemaChecked ??= checkSchema(pool()).then(
      () => undefined,
      (error: unknown) => {
        this.schemaChecked = null;
        throw error;
      },
    );
    return this.schemaChecked;
  }

  /** Runs a caller's write. An error of the database says what became of the write. */
  write<T>(texts: FailureTexts, work: () => Promise<T>): Promise<T> {
    return withFailureTexts(texts, async () => {
      await this.ready();
      return work();
    });
  }

  /**
   * The same in the caller's transaction, which may hold the only connection of the pool: nothing
   * here waits for another one of it.
   */
  writeIn<T>(tx: Queryable | undefined, texts: FailureTexts, work: () => Promise<T>): Promise<T> {
    if (tx === undefined) return this.write(texts, work);
    return withFailureTexts(texts, async () => {
      checkTransaction(tx);
      await this.schemaReady(() => this.beside.pool());
      return work();
    });
  }

  /** Makes a change that the audit shows. */
  change<T>(texts: FailureTexts, act: Act, work: () => Promise<T>): Promise<T> {
    return this.audit.change(act, () => this.write(texts, work));
  }

  /** Makes a change that checks its arguments before it asks for the store, by `ready`. */
  steer<T>(texts: FailureTexts, act: Act, work: () => Promise<T>): Promise<T> {
    return this.audit.change(act, () => withFailureTexts(texts, work));
  }

  ring(targetIds: Iterable<number>): Promise<void> {
    return this.ringer.ring(targetIds);
  }

  /** Wakes what has work of accepted tasks; never throws. */
  async ringAccepted(rung: Rung): Promise<void> {
    await this.ringBeside(rung);
    await (rung.laneIds.length > 0 ? this.ringLaneIds(rung.laneIds) : this.ring(rung.targetIds));
  }

  /** The same after a submit's own commit, which many others may follow at once. */
  async ringSubmitted(rung: Rung): Promise<void> {
    await this.ringBeside(rung);
    await (rung.laneIds.length > 0 ? this.ringLaneIds(rung.laneIds) : this.ringer.ringBehind(rung.targetIds));
  }

  /** Some of the tasks may depend only on tasks that have ended already. */
  private async ringBeside({ hasDependents }: Rung): Promise<void> {
    if (hasDependents) await this.releaseDependents();
  }

  releaseDependents(): Promise<void> {
    return this.behind.follow(() => this.releases.add([true]));
  }

  private async tellReleased({ targetIds, hasNotifications, failed }: Released): Promise<void> {
    for (const one of failed) this.told?.failedUnsent(one);
    await this.ring(targetIds);
    if (hasNotifications) await wakeNotifierOf(this);
  }

  ringLaneIds(laneIds: Iterable<number>): Promise<void> {
    return this.laneRinger.ring(laneIds);
  }

  wake(send: (requests: Requests) => Promise<Error | null>): Promise<void> {
    return this.behind.wake(send);
  }

  wakeFailed(error: Error): void {
    this.behind.failed(error);
  }

  /** Resolves when no ring is in progress. */
  settled(): Promise<void> {
    return this.behind.idle();
  }

  /** Waits for rings in progress, then closes the connections that this client opened. */
  async close(): Promise<void> {
    await this.settled();
    if (this.options.temporal?.client === undefined)
      await (await this.requestsMemo?.catch(() => null))?.temporal.connection.close();
    await this.beside.close();
    if (this.options.pool === undefined) await this.pool.end();
  }
}
