import { Client as TemporalClient, Connection } from '@temporalio/client';
import type { ConnectionOptions } from '@temporalio/client';
import type { Handler } from '../activities/handlers/types';
import { checkSchema } from '../postgres/migrate';
import type { Pool, Queryable } from '../postgres/pool';
import { createPool } from '../postgres/pool';
import { DEFAULT_PREFIX } from '../workflows/naming';
import type { CheckedTask, TaskInput } from './checkTasks';
import { checkTask } from './checkTasks';
import type { TaskProblem } from './errors';
import { InvalidTaskError, TemporalUnavailableError, TooManyTasksError, UnknownHandlerError } from './errors';
import { Ringer } from './ringer';
import { Submitter } from './submit';

export interface ClientOptions {
  databaseUrl: string;
  /** Schema of Muster's tables; default `muster`. */
  schema?: string;
  /** The handlers of the config file: they check payloads and compute targets. */
  handlers?: readonly Handler[];
  temporal?: { address?: string; namespace?: string; connection?: ConnectionOptions; client?: TemporalClient };
  /** Prefix of workflow ids and task queues; the workers' must be the same. Default `muster`. */
  prefix?: string;
  /** Most database connections; default 10. */
  maxConnections?: number;
  /** Told of rings that failed (the sweeper repeats them); default: ignored. */
  onRingFailure?: (error: Error) => void;
  pool?: Pool;
}

/** Most tasks of one `submit` call with an array. */
export const MAX_TASKS_PER_CALL = 10_000;
const STREAM_CHUNK = 1_000;
const LEASE_MS = 15_000;

export interface SubmitOptions {
  /** Accept the valid ones and answer the problems of the others; without it nothing of a bad call is accepted. */
  partial?: boolean;
  /** The caller's own Postgres transaction (a `pg` client after BEGIN): accepted iff it commits (G14). */
  tx?: Queryable;
}
export interface SubmitResult {
  accepted: number;
  repeated: number;
  refused: TaskProblem[];
}

export type TaskSource<P = unknown> = TaskInput<P> | readonly TaskInput<P>[] | AsyncIterable<TaskInput<P>>;

export class Client {
  readonly pool: Pool;
  readonly prefix: string;
  readonly handlers: ReadonlyMap<string, Handler>;
  private readonly submitter: Submitter;
  private readonly ringer: Ringer;
  private schemaChecked: Promise<void> | null = null;
  private temporalMemo: Promise<TemporalClient> | null = null;

  constructor(private readonly options: ClientOptions) {
    this.pool = options.pool ?? createPool({ databaseUrl: options.databaseUrl, schema: options.schema, max: options.maxConnections, applicationName: 'muster client' });
    this.prefix = options.prefix ?? DEFAULT_PREFIX;
    this.handlers = new Map((options.handlers ?? []).map((handler) => [handler.name, handler]));
    this.submitter = new Submitter(this.pool);
    this.ringer = new Ringer(this.pool, () => this.temporal(), this.prefix, LEASE_MS, options.onRingFailure ?? (() => undefined));
  }

  /** The Temporal client; connects on first use. */
  temporal(): Promise<TemporalClient> {
    this.temporalMemo ??= this.connectTemporal().catch((error: unknown) => {
      this.temporalMemo = null;
      throw error;
    });
    return this.temporalMemo;
  }

  /** Submits one task, many (at most 10,000: one transaction), or a stream of any length (in chunks, bounded memory). Resolves when accepted: committed. */
  async submit(handlerName: string, tasks: TaskSource, options: SubmitOptions = {}): Promise<SubmitResult> {
    const handler = this.handler(handlerName);
    await this.ready();
    if (isAsyncIterable(tasks)) return this.submitStream(handler, tasks, options);
    return this.submitCall(handler, Array.isArray(tasks) ? (tasks as readonly TaskInput[]) : [tasks as TaskInput], options);
  }

  handler(name: string): Handler {
    const handler = this.handlers.get(name);
    if (handler === undefined) throw new UnknownHandlerError(name, [...this.handlers.keys()]);
    return handler;
  }

  /** Checks the schema's version once. */
  ready(): Promise<void> {
    this.schemaChecked ??= checkSchema(this.pool).catch((error: unknown) => {
      this.schemaChecked = null;
      throw error;
    });
    return this.schemaChecked;
  }

  /** Tells the leaders of these targets to look; never throws. */
  ring(targetIds: Iterable<number>): Promise<void> {
    return this.ringer.ring(targetIds);
  }

  async close(): Promise<void> {
    if (this.options.temporal?.client === undefined) await (await this.temporalMemo?.catch(() => null))?.connection.close();
    if (this.options.pool === undefined) await this.pool.end();
  }

  private async submitCall(handler: Handler, tasks: readonly TaskInput[], options: SubmitOptions): Promise<SubmitResult> {
    if (tasks.length > MAX_TASKS_PER_CALL) throw new TooManyTasksError(MAX_TASKS_PER_CALL, tasks.length);
    const problems: TaskProblem[] = [];
    const checked = tasks.map((task, index) => checkTask(handler, task, index, problems)).filter((task): task is CheckedTask => task !== null);
    if (problems.length > 0 && options.partial !== true) throw new InvalidTaskError(problems);
    if (checked.length === 0) return { accepted: 0, repeated: 0, refused: problems };
    const stored = await this.submitter.store(handler, checked, { partial: options.partial ?? false, ...(options.tx === undefined ? {} : { tx: options.tx }) });
    // In the caller's transaction nothing is there to ring for yet: its commit comes later, and the sweeper finds it within seconds.
    if (options.tx === undefined) await this.ring(stored.targetIds);
    return { accepted: stored.accepted, repeated: stored.repeated, refused: [...problems, ...stored.refused] };
  }

  private async submitStream(handler: Handler, tasks: AsyncIterable<TaskInput>, options: SubmitOptions): Promise<SubmitResult> {
    const sum: SubmitResult = { accepted: 0, repeated: 0, refused: [] };
    let chunk: TaskInput[] = [];
    let offset = 0;
    const flush = async (): Promise<void> => {
      const part = await this.submitCall(handler, chunk, options);
      sum.accepted += part.accepted;
      sum.repeated += part.repeated;
      for (const problem of part.refused) if (sum.refused.length < 1_000) sum.refused.push({ ...problem, index: problem.index + offset });
      offset += chunk.length;
      chunk = [];
    };
    for await (const task of tasks) {
      chunk.push(task);
      if (chunk.length >= STREAM_CHUNK) await flush();
    }
    if (chunk.length > 0) await flush();
    return sum;
  }

  private async connectTemporal(): Promise<TemporalClient> {
    const { client, address = 'localhost:7233', namespace = 'default', connection } = this.options.temporal ?? {};
    if (client !== undefined) return client;
    try {
      return new TemporalClient({ connection: await Connection.connect({ address, connectTimeout: '5s', ...connection }), namespace });
    } catch (error) {
      throw new TemporalUnavailableError(address, error);
    }
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<TaskInput> => typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

export const createClient = (options: ClientOptions): Client => new Client(options);
