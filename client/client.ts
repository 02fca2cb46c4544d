import type { Client as TemporalClient } from '@temporalio/client';
import type { Sealer } from '../handlers/codec/sealer';
import type { Pool } from '../postgres/pool';
import { Bulk } from './bulk/bulk';
import { Callbacks } from './callbacks/callbacks';
import type { ClientOptions } from './clientOptions';
import { Connection } from './connection';
import type { ClientContext } from './context';
import { Executions } from './executions/executions';
import { Fanouts } from './fanouts/fanouts';
import { Items } from './fanouts/items';
import { Batches } from './lanes/batches';
import { Lanes } from './lanes/lanes';
import { Limits } from './limits/limits';
import { SharedLimits } from './limits/sharedLimits';
import { Queuers } from './lanes/queuers';
import { Nodes, Partitions } from './nodes/nodes';
import { Errors } from './listing/errors';
import { bound, callable } from './noun';
import type { Act, Actor } from './operations/auditLog';
import { Audit } from './operations/audit';
import { someOf } from './operations/auditLog';
import { Handlers } from './operations/handlers';
import type { ResolveWhat, Verdict } from './operations/resolve';
import { auditOf, resolve } from './operations/resolve';
import { Outcomes } from './outcomes/outcomes';
import { Targets } from './operations/targets';
import type { VerifyOptions } from './operations/verify';
import { verify } from './operations/verify';
import { Tasks } from './tasks/tasks';
import type { FailureTexts } from './tasks/failureTexts';
import { CHANGE } from './tasks/failureTexts';
import type { Verification } from './views';

/**
 * The client library: submits tasks, waits for their ends, reads their state, and steers handlers,
 * lanes and nodes. Its verbs are grouped by nouns (`muster.lanes.pause`). Verbs read and write
 * Postgres; Temporal is only used to wake workflows. Every verb may throw a `MusterError`, whose
 * `code` is stable, or a database error, whose `outcome` says whether anything may have been done.
 */
export class Client implements ClientContext {
  readonly pool: Pool;
  readonly prefix: string;
  /** @internal */
  readonly sealer: Sealer | null;
  readonly tasks: Tasks;
  readonly handlers: Handlers;
  /** A call is short for {@link Targets.list}. */
  readonly targets: Targets & Targets['list'];
  readonly batches: Batches;
  readonly bulk: Bulk;
  /** A call is short for {@link Lanes.list}. */
  readonly lanes: Lanes & Lanes['list'];
  readonly queuers: Queuers;
  readonly errors: Errors;
  readonly limits: Limits;
  readonly sharedLimits: SharedLimits;
  readonly callbacks: Callbacks;
  readonly outcomes: Outcomes;
  readonly fanouts: Fanouts;
  readonly items: Items;
  /** A call is short for {@link Executions.list}. */
  readonly executions: Executions & Executions['list'];
  /** A call is short for {@link Nodes.list}. */
  readonly nodes: Nodes & Nodes['list'];
  /** A call is short for {@link Partitions.list}. */
  readonly partitions: Partitions & Partitions['list'];
  readonly audit: Audit;

  // The short forms are properties, assigned in the constructor: a method would have to repeat the
  // signature of its noun's verb, and the overloads of `submit`.

  /** Short for {@link Tasks.submit}. */
  readonly submit: Tasks['submit'];
  /** Short for {@link Tasks.get}. */
  readonly getTask: Tasks['get'];
  /** Short for {@link Tasks.lookUp}. */
  readonly getTasks: Tasks['lookUp'];
  /** Short for {@link Tasks.waitFor}. */
  readonly waitFor: Tasks['waitFor'];
  /** Short for {@link Tasks.explain}. */
  readonly explain: Tasks['explain'];
  /** Short for {@link Tasks.cancel}. */
  readonly cancel: Tasks['cancel'];
  /** Short for {@link Tasks.redrive}. */
  readonly redrive: Tasks['redrive'];
  /** Short for {@link Handlers.definition}. */
  readonly handler: Handlers['definition'];
  /** Short for {@link Handlers.status}. */
  readonly status: Handlers['status'];
  /** Short for {@link Handlers.flush}. */
  readonly flush: Handlers['flush'];
  /** Short for {@link Handlers.pause}. */
  readonly pause: Handlers['pause'];
  /** Short for {@link Handlers.resume}. */
  readonly resume: Handlers['resume'];
  /** Short for {@link Targets.set}. */
  readonly setTarget: Targets['set'];
  /** Short for {@link Targets.ring}. */
  readonly ring: Targets['ring'];
  /** Short for {@link Batches.submit}. */
  readonly submitBatch: Batches['submit'];
  /** Short for {@link Batches.submitMany}. */
  readonly submitBatches: Batches['submitMany'];
  /** Short for {@link Batches.get}. */
  readonly batch: Batches['get'];
  /** Short for {@link Batches.status}. */
  readonly batchStatus: Batches['status'];
  /** Short for {@link Batches.receipts}. */
  readonly receipts: Batches['receipts'];
  /** Short for {@link Batches.cancel}. */
  readonly cancelBatch: Batches['cancel'];
  /** Short for {@link Batches.complete}. */
  readonly complete: Batches['complete'];
  /** Short for {@link Lanes.get}. */
  readonly lane: Lanes['get'];
  /** Short for {@link Lanes.pause}. */
  readonly pauseLane: Lanes['pause'];
  /** Short for {@link Lanes.resume}. */
  readonly resumeLane: Lanes['resume'];
  /** Short for {@link Lanes.setWeight}. */
  readonly setLaneWeight: Lanes['setWeight'];
  /** Short for {@link Lanes.skip}. */
  readonly skipHead: Lanes['skip'];
  /** Short for {@link Lanes.fix}. */
  readonly fixHead: Lanes['fix'];
  /** Short for {@link Lanes.reportLost}. */
  readonly reportLost: Lanes['reportLost'];
  /** Short for {@link Lanes.ring}. */
  readonly ringLanes: Lanes['ring'];
  /** Short for {@link Queuers.list}. */
  readonly queuer: Queuers['list'];
  /** Short for {@link Queuers.set}. */
  readonly setQueuer: Queuers['set'];
  /** Short for {@link Queuers.pause}. */
  readonly pauseQueuer: Queuers['pause'];
  /** Short for {@link Queuers.resume}. */
  readonly resumeQueuer: Queuers['resume'];
  /** Short for {@link Fanouts.open}. */
  readonly openFanout: Fanouts['open'];
  /** Short for {@link Fanouts.seal}. */
  readonly sealFanout: Fanouts['seal'];
  /** Short for {@link Fanouts.get}. */
  readonly getFanout: Fanouts['get'];
  /** Short for {@link Fanouts.waitFor}. */
  readonly waitForFanout: Fanouts['waitFor'];
  /** Short for {@link Fanouts.reap}. */
  readonly reapFanouts: Fanouts['reap'];
  /** Short for {@link Items.add}. */
  readonly addItems: Items['add'];
  /** Short for {@link Items.addInParts}. */
  readonly addItemsInParts: Items['addInParts'];
  /** Short for {@link Items.ack}. */
  readonly ackItems: Items['ack'];
  /** Short for {@link Items.reopen}. */
  readonly reopenItems: Items['reopen'];
  /** Short for {@link Items.read}. */
  readonly readItems: Items['read'];
  /** Short for {@link Executions.execute}. */
  readonly execute: Executions['execute'];
  /** Short for {@link Executions.getHandle}. */
  readonly execution: Executions['getHandle'];
  /** Short for {@link Nodes.drain}. */
  readonly drainNode: Nodes['drain'];
  /** Short for {@link Partitions.move}. */
  readonly movePartition: Partitions['move'];

  private readonly connection: Connection;

  constructor(options: ClientOptions) {
    this.connection = new Connection(options);
    this.pool = this.connection.pool;
    this.prefix = this.connection.prefix;
    const { sealer } = this.connection;
    this.sealer = sealer;
    this.tasks = bound(new Tasks(this.connection), sealer);
    this.handlers = bound(new Handlers(this.connection), sealer);
    this.targets = callable(new Targets(this.connection), 'list', sealer);
    this.batches = bound(new Batches(this.connection), sealer);
    this.bulk = bound(new Bulk(this.connection), sealer);
    this.lanes = callable(new Lanes(this.connection), 'list', sealer);
    this.errors = bound(new Errors(this.connection), sealer);
    this.limits = bound(new Limits(this.connection), sealer);
    this.sharedLimits = bound(new SharedLimits(this.connection), sealer);
    this.callbacks = bound(new Callbacks(this.connection), sealer);
    this.outcomes = bound(new Outcomes(this.connection), sealer);
    this.queuers = bound(new Queuers(this.connection), sealer);
    this.fanouts = bound(new Fanouts(this.connection), sealer);
    this.items = bound(new Items(this.connection), sealer);
    this.executions = callable(new Executions(this.connection), 'list', sealer);
    this.nodes = callable(new Nodes(this.connection), 'list', sealer);
    this.audit = bound(new Audit(this.connection), sealer);
    this.partitions = callable(new Partitions(this.connection), 'list', sealer);

    ({ submit: this.submit, get: this.getTask, lookUp: this.getTasks, waitFor: this.waitFor } = this.tasks);
    ({ explain: this.explain, cancel: this.cancel, redrive: this.redrive } = this.tasks);
    ({ definition: this.handler, status: this.status } = this.handlers);
    ({ flush: this.flush, pause: this.pause, resume: this.resume } = this.handlers);
    ({ set: this.setTarget, ring: this.ring } = this.targets);
    ({ submit: this.submitBatch, submitMany: this.submitBatches, get: this.batch } = this.batches);
    ({ status: this.batchStatus, receipts: this.receipts } = this.batches);
    ({ cancel: this.cancelBatch, complete: this.complete } = this.batches);
    ({ get: this.lane, pause: this.pauseLane, resume: this.resumeLane, setWeight: this.setLaneWeight } = this.lanes);
    ({ skip: this.skipHead, fix: this.fixHead, ring: this.ringLanes, reportLost: this.reportLost } = this.lanes);
    ({ list: this.queuer, set: this.setQueuer, pause: this.pauseQueuer, resume: this.resumeQueuer } = this.queuers);
    ({ open: this.openFanout, seal: this.sealFanout, get: this.getFanout } = this.fanouts);
    ({ waitFor: this.waitForFanout, reap: this.reapFanouts } = this.fanouts);
    ({ add: this.addItems, addInParts: this.addItemsInParts } = this.items);
    ({ ack: this.ackItems, reopen: this.reopenItems, read: this.readItems } = this.items);
    ({ execute: this.execute, getHandle: this.execution } = this.executions);
    ({ drain: this.drainNode } = this.nodes);
    ({ move: this.movePartition } = this.partitions);
  }

  /**
   * Looks for violated invariants of the store, and returns at most 20 rows per invariant that
   * violate it. Checks about `rows` rows of each table (100 to 1,000,000, default 5,000), half of
   * them the newest and half in random places, or with `full` every row, which takes up to a minute
   * per million tasks.
   */
  verify(options?: VerifyOptions): Promise<Verification> {
    return verify(this.connection, options);
  }

  /** Short for {@link Tasks.resolve} and {@link Batches.resolve}. */
  resolve(what: ResolveWhat, verdict: Verdict): Promise<{ resolved: number }> {
    const subject = what?.batch === undefined ? someOf('task', what?.tasks) : `batch ${what.batch}`;
    const act = { verb: 'resolve', subject, detail: auditOf(this.connection, verdict) };
    return this.connection.steer(CHANGE, act, () => resolve(this.connection, what, verdict));
  }

  /** Returns the Temporal client, and connects on first use. Throws `TemporalUnavailableError`. */
  temporal(): Promise<TemporalClient> {
    return this.connection.temporal();
  }

  /**
   * Checks, once per client, that the tables exist in a version that this program knows. Throws an
   * error with code SCHEMA_MISSING, SCHEMA_NEWER or SCHEMA_DIFFERS.
   *
   * @internal
   */
  ready(): Promise<void> {
    return this.connection.ready();
  }

  /**
   * Runs work whose changes are made by this actor, as the audit shows it.
   *
   * @internal
   */
  actingAs<T>(actor: Actor, work: () => Promise<T>): Promise<T> {
    return this.connection.audit.as(actor, work);
  }

  /** @internal */
  change<T>(texts: FailureTexts, act: Act, work: () => Promise<T>): Promise<T> {
    return this.connection.change(texts, act, work);
  }

  /**
   * Tells the queuers to look at these lanes. Never throws.
   *
   * @internal
   */
  ringLaneIds(laneIds: Iterable<number>): Promise<void> {
    return this.connection.ringLaneIds(laneIds);
  }

  /** @internal */
  releaseDependents(): Promise<void> {
    return this.connection.releaseDependents();
  }

  /**
   * Sends wakes after a commit, as `ring` does. Never throws.
   *
   * @internal
   */
  wake(send: Parameters<ClientContext['wake']>[0]): Promise<void> {
    return this.connection.wake(send);
  }

  /**
   * Reports a wake that did not arrive to `onRingFailure`. The sweeper repeats it.
   *
   * @internal
   */
  wakeFailed(error: Error): void {
    this.connection.wakeFailed(error);
  }

  /** Waits for rings in progress, then closes the connections that this client opened. */
  close(): Promise<void> {
    return this.connection.close();
  }
}

/** Creates a client, which connects on its first call. Close it at the end. */
export const createClient = (options: ClientOptions): Client => new Client(options);
