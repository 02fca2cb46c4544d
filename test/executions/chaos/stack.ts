import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStore } from '../../../examples/support/database';
import { startPostgres, startTemporalDev } from '../../../workers/embedded';
import type { EmbeddedPostgres, TemporalDev } from '../../../workers/embedded';
import { Child } from '../../chaos/processes/child';
import { restartPostgres, restartTemporal } from '../../chaos/restart';
import { eventually } from '../../helpers/eventually';

/** A node's process and its successors. */
class Place {
  private child: Child | null = null;
  private ready = false;
  private busy = false;
  constructor(private readonly start: (onLine: () => void) => Child) {}

  up(): void {
    this.ready = false;
    const child = this.start(() => (this.ready = true));
    this.child = child;
    // One that ended by itself, its servers being away, comes back as an installation would bring
    // it back.
    void child.exited.then(() => sleep(500)).then(() => this.child === child && !this.busy && this.up());
  }
  isUp(): boolean {
    return this.ready && !this.busy && this.child?.ended === false;
  }
  async kill(awayMs: number): Promise<void> {
    this.busy = true;
    this.child!.signal('SIGKILL');
    await this.child!.exited;
    await sleep(awayMs);
    this.busy = false;
    this.up();
  }
  /** Stopped past its lease, then it wakes. */
  async freeze(ms: number): Promise<void> {
    this.busy = true;
    this.child!.signal('SIGSTOP');
    await sleep(ms);
    this.child!.signal('SIGCONT');
    this.busy = false;
  }
  async end(): Promise<void> {
    const child = this.child;
    this.child = null;
    child?.signal('SIGCONT');
    child?.signal('SIGKILL');
    await child?.exited;
  }
}

const POSTGRES = { fsync: 'off' };

/** Servers that can be killed and come back, and nodes. */
export class Stack {
  readonly prefix = `execution-chaos-${randomBytes(4).toString('hex')}`;
  readonly runs: string;
  readonly nodes: Place[];
  private constructor(
    private readonly folder: string,
    private postgres: EmbeddedPostgres,
    private temporal: TemporalDev,
    readonly databaseUrl: string,
    nodes: number,
  ) {
    this.runs = path.join(folder, 'runs');
    const script = path.join('..', 'executions', 'chaos', 'node.js');
    const settings = { databaseUrl, address: this.address, prefix: this.prefix, runs: this.runs };
    this.nodes = Array.from(
      { length: nodes },
      () => new Place((onLine) => new Child(script, [JSON.stringify(settings)], path.join(folder, 'node.log'), onLine)),
    );
  }

  static async start(folder: string, nodes: number): Promise<Stack> {
    const [postgres, temporal] = await Promise.all([
      startPostgres({ dataDir: path.join(folder, 'postgres'), settings: POSTGRES }),
      startTemporalDev({ dbFilename: path.join(folder, 'temporal.db') }),
    ]);
    const stack = new Stack(folder, postgres, temporal, await createStore(postgres.url, 'chaos'), nodes);
    for (const node of stack.nodes) node.up();
    await eventually(() => stack.nodes.every((node) => node.isUp()), { timeoutMs: 120_000, what: 'the nodes' });
    return stack;
  }

  get address(): string {
    return this.temporal.address;
  }

  async restartTemporal(awayMs: number): Promise<void> {
    this.temporal = await restartTemporal(this.temporal, path.join(this.folder, 'temporal.db'), awayMs);
  }

  async restartPostgres(awayMs: number): Promise<void> {
    this.postgres = await restartPostgres(this.postgres, awayMs, POSTGRES);
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.end();
    await Promise.all([this.temporal.stop(), this.postgres.stop()]);
  }
}
