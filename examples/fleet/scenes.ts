import type { Client } from '../../client';
import type { Crew, Member } from './crew';
import { countsOf, fewestMoves, isSettled } from './minimum';
import type { Watch } from './watch';

export const SCENES = ['join and leave', 'drain', 'block', 'kill', 'pause'] as const;
export type Scene = (typeof SCENES)[number];

/** One membership change: what moved against what had to. */
export interface Change {
  what: string;
  kind: 'join' | 'loss' | 'other';
  moves: number;
  fewest: number;
  settledMs: number;
  /** In time. */
  settled: boolean;
}

const SETTLE_MS = 30_000;
/** So long is waited at most until those that took partitions over have written there. */
const WRITE_MS = 8_000;

/**
 * What happens to the nodes, one after the other; each change is waited for until partitions stand
 * evenly again.
 */
export class Scenes {
  readonly changes: Change[] = [];
  readonly counts: Record<Scene, number> = { 'join and leave': 0, drain: 0, block: 0, kill: 0, pause: 0 };
  private movesSoFar = 0;

  constructor(
    private readonly deps: {
      client: Client;
      crew: Crew;
      watch: Watch;
      random: () => number;
      blockMs: number;
      /** Highest epochs that the gate has seen, by partition. */
      epochs: () => Promise<Readonly<Record<string, number>>>;
      say: (line: string) => void;
    },
  ) {}

  /** The first nodes are there, at once or one by one: what that moves is not counted. */
  async begin(): Promise<void> {
    await this.change('the first nodes', () => Promise.resolve());
    this.changes.length = 0;
  }

  async play(scene: Scene): Promise<void> {
    const { client, crew } = this.deps;
    const one = crew.members[Math.floor(this.deps.random() * crew.members.length)]!;
    this.counts[scene]++;
    switch (scene) {
      case 'join and leave': {
        const joined: Member[] = [];
        await this.change('a node joins', async () => void joined.push(await crew.join()), 'join');
        return this.change(`${one.label} leaves`, () => crew.leave(one));
      }
      case 'drain':
        await this.change(`${one.label} is drained`, async () => {
          one.state = 'drained';
          await client.drainNode(one.id);
        });
        return this.change(`${one.label} may have some again`, async () => {
          one.state = 'up';
          await client.drainNode(one.id, { undo: true });
        });
      case 'block':
        return this.change(`${one.label} is blocked for ${this.deps.blockMs} ms`, async () => {
          crew.block(one);
          await pause(this.deps.blockMs + 500);
          one.state = 'up';
        });
      case 'kill':
        await this.change(`${one.label} is killed`, () => crew.kill(one), 'loss');
        return this.change('a node joins', async () => void (await crew.join()), 'join');
      case 'pause':
        await this.busy(one);
        await this.change(`${one.label} is stopped`, async () => crew.stop(one), 'loss');
        await this.written(one);
        return this.change(`${one.label} wakes`, async () => crew.wake(one));
    }
  }

  /** Until it is in the middle of calls: what it wakes with is then too late. */
  private async busy({ id }: Member): Promise<void> {
    for (let tries = 0; tries < 50; tries++) {
      const node = (await this.deps.client.nodes()).find((one) => one.id === id);
      if (node !== undefined && node.inFlight > 1) return;
      await pause(20);
    }
  }

  /** Until all that it had was written under newer epochs. */
  private async written({ id }: Member): Promise<void> {
    const { watch, epochs } = this.deps;
    const had = [...watch.holders]
      .filter(([, holder]) => holder === id)
      .map(([key]) => key.slice(0, key.lastIndexOf('/')));
    const now = new Map(watch.last.leases.map(({ partition, epoch }) => [partition, epoch]));
    const until = performance.now() + WRITE_MS;
    for (let seen = await epochs(); performance.now() < until; seen = await epochs()) {
      if (had.every((partition) => (seen[partition] ?? 0) >= now.get(partition)!)) return;
      await pause(100);
    }
  }

  /** Moves since the last change count here, too: late ones are not lost. */
  private async change(what: string, make: () => Promise<void>, kind: Change['kind'] = 'other'): Promise<void> {
    const { crew, watch, say } = this.deps;
    const before = countsOf(watch.last.leases);
    await make();
    const since = performance.now();
    const members = crew.members.map(({ id }) => id);
    const looked = watch.last;
    let settled = false;
    while (!settled && performance.now() - since < SETTLE_MS) {
      await pause(100);
      settled = watch.last !== looked && isSettled(watch.last.leases, members);
    }
    const moves = watch.moves - this.movesSoFar;
    this.movesSoFar = watch.moves;
    const fewest = fewestMoves(before, members, watch.last.leases.length);
    const settledMs = Math.round(performance.now() - since);
    this.changes.push({ what, kind, moves, fewest, settledMs, settled });
    say(
      `${what}: ${moves} moves, at least ${fewest} had to be; ${settled ? `even after ${settledMs} ms` : 'NOT EVEN'}`,
    );
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
