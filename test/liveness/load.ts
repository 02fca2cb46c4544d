import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, TaskInput } from '../../client';
import { randomOf } from '../chaos/random';
import { ACCEPTED, HERD, LANE, LANE_ACCEPTED, PLACED, PLAIN } from './movers';

/**
 * Work that arrives all the time, in one stream for each handler, so that one that waits keeps no
 * other.
 */

const EVERY_MS = 400;
/**
 * Whole batches stand alone in their lanes, and each takes its acceptance and a look: far fewer
 * than a lane can take.
 */
const BATCH_EVERY_MS = 2_000;
const TARGETS = 12;
const LANES = 6;
/** Tasks that keep their leaders from ending are due so late; they are cancelled before. */
const HELD_MS = 24 * 3_600_000;
/** A submit that failed is repeated, with the same ids. */
const AGAIN_MS = 250;
const MESSAGES = 10;

export interface LoadOptions {
  client: Client;
  /** Tasks a second, over all handlers of the steady load. */
  rate: number;
  seed: number;
  callbackUrl: string;
  leaders: number;
}

export class Load {
  /** Accepted, by handler. */
  readonly acked = new Map<string, string[]>();
  /** Of these the ends are told. */
  readonly toTell: string[] = [];
  /** Tasks of tomorrow that keep the runs of the herd's leaders open. */
  readonly held: string[] = [];
  /** When a submit was last accepted, and how long the longest took since `forget`. */
  acceptedAtMs: number[] = [];
  longestMs = 0;
  failures = 0;
  /** The first ones that differ. */
  readonly messages = new Set<string>();
  private readonly random: () => number;
  private stopping = false;
  private herding = false;
  private readonly streams: Promise<void>[] = [];
  private readonly numbers = new Map<string, number>();

  constructor(private readonly options: LoadOptions) {
    this.random = randomOf(options.seed);
  }

  start(): void {
    const each = Math.max(1, Math.round((this.options.rate * EVERY_MS) / 1_000 / 5));
    for (const [handler, keys] of [
      [PLAIN, TARGETS],
      [ACCEPTED, TARGETS],
      [PLACED, TARGETS],
      [LANE, LANES],
    ] as const)
      this.streams.push(this.stream(handler, () => this.tasks(handler, each, keys)));
    this.streams.push(this.batches(each));
  }

  /**
   * Many leaders have work, until `endHerd`; none is added while so much is open: what arrives is
   * in proportion to what the machine can do.
   */
  startHerd(each: number, isFull: () => boolean): void {
    this.herding = true;
    const next = (): TaskInput[] => (isFull() ? [] : this.tasks(HERD, each, this.herdTargets));
    this.streams.push(this.stream(HERD, next, () => this.herding));
  }
  endHerd(): void {
    this.herding = false;
  }

  /** Gives each target of the herd a task of tomorrow: its leader's run stays, and grows long. */
  async holdHerd(): Promise<void> {
    const notBefore = Date.now() + HELD_MS;
    const tasks = Array.from({ length: this.herdTargets }, (_, i) => ({
      id: `held-${this.held.length + i}`,
      payload: { key: `k${i}`, n: i },
      notBefore,
    }));
    await this.options.client.submit(HERD, tasks);
    this.held.push(...tasks.map(({ id }) => id));
  }
  /** Takes those back. */
  async releaseHerd(): Promise<void> {
    await this.options.client.tasks.cancel(this.held);
  }
  private get herdTargets(): number {
    return this.options.leaders * 2;
  }

  /** Resolves when what was being submitted is accepted. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.herding = false;
    await Promise.all(this.streams);
  }

  forget(): void {
    this.longestMs = 0;
    this.failures = 0;
    this.messages.clear();
    this.acceptedAtMs = [];
  }

  acceptedOf(handler: string): number {
    return this.acked.get(handler)?.length ?? 0;
  }

  get accepted(): number {
    return [...this.acked.values()].reduce((sum, ids) => sum + ids.length, 0);
  }

  private async stream(handler: string, next: () => TaskInput[], goesOn = () => true): Promise<void> {
    while (!this.stopping && goesOn()) {
      const tasks = next();
      if (tasks.length > 0) await this.untilAccepted(() => this.options.client.submit(handler, tasks));
      this.keep(handler, tasks);
      await sleep(EVERY_MS * (0.5 + this.random()));
    }
  }

  /** Whole batches in lanes. */
  private async batches(each: number): Promise<void> {
    while (!this.stopping) {
      const key = `s${Math.floor(this.random() * LANES)}`;
      const items = this.tasks(LANE_ACCEPTED, each, 1).map((task) => ({
        ...task,
        payload: { ...(task.payload as object), key },
      }));
      await this.untilAccepted(() => this.options.client.submitBatch(LANE_ACCEPTED, key, items));
      this.keep(LANE_ACCEPTED, items);
      await sleep(BATCH_EVERY_MS * (0.5 + this.random()));
    }
  }

  private tasks(handler: string, count: number, keys: number): TaskInput[] {
    const from = this.numbers.get(handler) ?? 0;
    this.numbers.set(handler, from + count);
    return Array.from({ length: count }, (_, i) => ({
      id: `${handler}-${from + i}`,
      payload: { key: `k${Math.floor(this.random() * keys)}`, n: from + i },
      ...(handler === PLAIN ? { callback: { url: this.options.callbackUrl } } : {}),
    }));
  }

  private keep(handler: string, tasks: readonly TaskInput[]): void {
    const ids = tasks.map(({ id }) => id);
    const before = this.acked.get(handler);
    if (before === undefined) this.acked.set(handler, ids);
    else before.push(...ids);
    if (handler === PLAIN) this.toTell.push(...ids);
  }

  private async untilAccepted(submit: () => Promise<unknown>): Promise<void> {
    for (const begunMs = performance.now(); ; await sleep(AGAIN_MS)) {
      try {
        await submit();
        this.acceptedAtMs.push(performance.now());
        this.longestMs = Math.max(this.longestMs, performance.now() - begunMs);
        return;
      } catch (error) {
        this.failures++;
        if (this.messages.size < MESSAGES) this.messages.add(error instanceof Error ? error.message : String(error));
      }
    }
  }
}
