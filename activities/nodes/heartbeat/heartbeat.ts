import { once } from 'node:events';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { NodeRow } from '../../../postgres/nodes/node';
import { poolOptions } from '../../../postgres/pool';
import type { Pool } from '../../../postgres/pool';
import { ChunkLease } from './chunkLease';
import type { FromThread, Hold, PartitionTerms, SeenPartition, ThreadData, ToThread } from './messages';
import { ChunkMemory, SignOfLife, toNs } from './shared';

/** Time between two signs of life of the main thread; far below any lease. */
const SIGN_MS = 200;
/** Time after which a thread that ended by itself (out of memory, say) is replaced. */
const RESTART_MS = 1_000;
/** How long its last writes may take at a stop. */
const STOP_MS = 5_000;
/** Client-side timeout: a silent connection is given up while some of the lease is left. */
export const QUERY_MS = 4_000;
/** Time between two log lines while Postgres is unreachable. */
const SAY_MS = 30_000;

export interface HeartbeatOptions {
  /** Only its settings are used, none of its connections. */
  pool: Pool;
  log: Logger;
  /** The node answers roll calls again: it had been silent, or its main thread had hung. */
  onAnswers?: () => void;
}

export interface PartitionHearer {
  /** Reports what the node holds. `atNs`: when that was read, by `nowNs`. */
  held(seen: readonly SeenPartition[], atNs: bigint): void;
  silentNode(): void;
  /** This node was silent for a lease, and is back. */
  back(): void;
}

/**
 * Proves that this process lives and holds its chunks, from a separate thread that no function can
 * block. The thread dies and stops with the process, and gives up what the process holds when its
 * main thread has given no sign of life for longer than an item may take.
 */
export class Heartbeat {
  private readonly signOfLife = new SignOfLife();
  private readonly held = new Map<number, { hold: Hold; memory: ChunkMemory; lease: ChunkLease }>();
  private beating: ToThread | null = null;
  private keeping: { message: ToThread; hear: PartitionHearer } | null = null;
  private worker: Worker | null = null;
  private timer: NodeJS.Timeout | undefined;
  private keys = 0;
  private stopped = false;
  private saidAt = -Infinity;

  constructor(private readonly options: HeartbeatOptions) {}

  /**
   * Starts the node's signs of life, every `everyMs`; called again when the row's content changes.
   */
  beat(row: NodeRow, everyMs: number, silenceMs: number): void {
    this.beating = { kind: 'beat', beat: { row, everyMs, silenceMs } };
    this.post(this.beating);
  }

  /**
   * Keeps the partitions that the node is given, and reports which they are; after the first
   * `beat`.
   */
  partitions(terms: PartitionTerms, hear: PartitionHearer): void {
    this.keeping = { message: { kind: 'partitions', terms }, hear };
    this.post(this.keeping.message);
  }

  /**
   * Keeps a chunk that was requested at `takenAtNs`, until its lease is ended. `parallelism`: how
   * many items may run at once.
   */
  hold(hold: Hold, parallelism: number, takenAtNs: bigint): ChunkLease {
    const key = ++this.keys;
    const memory = ChunkMemory.create(parallelism, takenAtNs + toNs(hold.leaseMs));
    const lease = new ChunkLease(
      memory,
      () => this.signOfLife.give(),
      () => {
        this.held.delete(key);
        this.worker?.postMessage({ kind: 'drop', key } satisfies ToThread);
      },
    );
    this.held.set(key, { hold, memory, lease });
    this.post({ kind: 'hold', key, hold, memory: memory.buffer });
    return lease;
  }

  /** Stops the thread; nothing is written after it resolves. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    const { worker } = this;
    if (worker === null) return;
    const exited = once(worker, 'exit');
    worker.postMessage({ kind: 'stop' } satisfies ToThread);
    const late = setTimeout(() => void worker.terminate(), STOP_MS);
    await exited;
    clearTimeout(late);
  }

  private post(message: ToThread): void {
    if (this.worker === null) this.start();
    else this.worker.postMessage(message);
  }

  /** Starts the thread with everything that it has to know. */
  private start(): void {
    if (this.stopped) return;
    const { pool } = this.options;
    const data: ThreadData = {
      pool: { ...poolOptions(pool), max: 1, applicationName: 'muster heartbeat', queryTimeoutMs: QUERY_MS },
      signOfLife: this.signOfLife.buffer,
    };
    const worker = startThread(data);
    this.worker = worker;
    worker.unref();
    worker.on('message', (message: FromThread) => this.heard(message));
    worker.on('error', (error) => this.options.log.error({ err: error }, 'the heartbeat thread failed'));
    worker.on('exit', () => {
      this.worker = null;
      if (!this.stopped) setTimeout(() => this.worker ?? this.start(), RESTART_MS).unref();
    });
    if (this.beating !== null) worker.postMessage(this.beating);
    if (this.keeping !== null) worker.postMessage(this.keeping.message);
    for (const [key, { hold, memory }] of this.held)
      worker.postMessage({ kind: 'hold', key, hold, memory: memory.buffer } satisfies ToThread);
    this.timer ??= setInterval(() => this.signOfLife.give(), SIGN_MS).unref();
  }

  private heard(message: FromThread): void {
    if (message.kind === 'lost') this.held.get(message.key)?.lease.lose();
    else if (message.kind === 'partitions') this.keeping?.hear.held(message.seen, message.atNs);
    else if (message.kind === 'silent-node') this.keeping?.hear.silentNode();
    else if (message.kind === 'back') this.keeping?.hear.back();
    else if (message.kind === 'answers') this.options.onAnswers?.();
    else if (performance.now() - this.saidAt > SAY_MS) {
      this.saidAt = performance.now();
      this.options.log.warn(
        { what: message.what, reason: message.message },
        'a heartbeat could not be written; trying again',
      );
    }
  }
}

/**
 * Starts the thread's file: from dist/ as it is; from TypeScript (under jest, or jiti) through
 * jiti.
 */
const startThread = (workerData: ThreadData): Worker => {
  const extension = path.extname(__filename);
  const file = path.join(__dirname, `thread${extension}`);
  const options = { workerData, execArgv: [] };
  if (extension === '.js') return new Worker(file, options);
  const [jiti, entry] = [JSON.stringify(require.resolve('jiti')), JSON.stringify(file)];
  return new Worker(`require(${jiti}).createJiti(${entry}).import(${entry})`, { ...options, eval: true });
};
