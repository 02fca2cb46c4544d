import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Client } from '../../client';
import type { Downstream } from './downstream';
import type { Mover } from './movers';
import { MOVERS } from './movers';
import type { Answers, WorkerHealth } from './judge/named';
import { healthyBy, namingOf, promiseOf } from './judge/named';
import type { OpenWork } from './openWork';
import { readOpenWork } from './openWork';
import type { Round, Seen } from './judge/truth';
import { STANDS_MS, writeStanding } from './standing';

/**
 * Asks all that an operator can ask, every few seconds, over connections of its own that no fault
 * touches, and keeps what was said.
 */

const EVERY_MS = 3_000;
/** Of each question. */
const DEADLINE_MS = 10_000;
const LOOKS_WITHIN_MS = 60_000;
/** From then on its rounds are worth keeping in words. */
const KEEP_MS = 20_000;

export interface WitnessOptions {
  client: Client;
  store: pg.Pool;
  downstream: Downstream;
  /** Addresses of `/healthz` of the workers. */
  healthz: () => readonly string[];
  /** For what was said, as lines of JSON. */
  file: string;
  /** For what stood, and why; likewise. */
  standingFile: string;
  log: (line: string) => void;
}

export class Witness {
  readonly rounds: Round[] = [];
  /** Questions without an answer within their deadline, by source. */
  readonly unanswered: Record<string, number> = {};
  /** For how long the movers stand now. */
  standing: ReadonlyMap<string, number> = new Map();
  private stopping = false;
  private watching: Promise<void> = Promise.resolve();

  constructor(private readonly options: WitnessOptions) {}

  start(): void {
    this.watching = this.watch();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.watching;
  }

  /**
   * Resolves once a round has been `ms` later than the first one since `sinceMs`: two rounds do not
   * come exactly `EVERY_MS` apart, and a calm as short as that could have none to be judged by.
   */
  async looksAfter(sinceMs: number, ms: number): Promise<void> {
    const deadlineMs = performance.now() + LOOKS_WITHIN_MS;
    const looked = (): boolean => {
      const first = this.rounds.find(({ atMs }) => atMs > sinceMs)?.atMs ?? Infinity;
      return (this.rounds.at(-1)?.atMs ?? -Infinity) >= first + ms;
    };
    while (!looked() && performance.now() < deadlineMs) await sleep(100);
  }

  private async watch(): Promise<void> {
    while (!this.stopping) {
      const begun = performance.now();
      await this.round().catch((error: unknown) => this.options.log(`the witness missed a round: ${String(error)}`));
      await sleep(Math.max(0, EVERY_MS - (performance.now() - begun)));
    }
  }

  private async round(): Promise<void> {
    const { client, store, file } = this.options;
    const work = await inTime(readOpenWork(store));
    const atMs = performance.now();
    const stands = new Map(MOVERS.map((mover) => [mover.name, this.standsMs(mover, work, atMs)]));
    this.standing = stands;
    void this.describe(stands).catch((error: unknown) => this.options.log(`what stands: ${String(error)}`));
    const [verify, status, explained, healthz] = await Promise.all([
      this.ask('verify', client.verify()),
      this.ask('status', client.status(undefined, { exact: false })),
      this.explainAll(work),
      Promise.all(this.options.healthz().map((url, worker) => this.health(url, worker))),
    ]);
    const answers: Answers = { verify, status, explained, healthz };
    const seen = Object.fromEntries(
      MOVERS.map((mover): [string, Seen] => {
        const naming = namingOf(mover, answers);
        // What moved while it was asked about was promised rightly, and is healthy.
        const moved = (this.options.downstream.movedAt(mover.name) ?? 0) > atMs;
        return [
          mover.name,
          {
            standsMs: stands.get(mover.name)!,
            naming,
            healthyBy: moved ? [] : healthyBy(mover, answers, naming),
            promise: moved ? null : promiseOf(mover, answers),
          },
        ];
      }),
    );
    this.rounds.push({ atMs, untilMs: performance.now(), seen });
    const worth = Object.values(seen).some(
      ({ standsMs, naming }) => standsMs > KEEP_MS || Object.keys(naming).length > 0,
    );
    if (worth)
      appendFileSync(
        file,
        `${JSON.stringify({ atMs, seen, said: [...explained].map(([mover, one]) => [mover, one?.text]), work })}\n`,
      );
  }

  private async describe(stands: ReadonlyMap<string, number>): Promise<void> {
    const movers = MOVERS.map((mover) => [mover, stands.get(mover.name) ?? 0] as const);
    const standing = movers.filter(([, ms]) => ms > STANDS_MS);
    if (standing.length === 0) return;
    const { client, store, standingFile } = this.options;
    await writeStanding(standingFile, standing, { temporal: await client.temporal(), prefix: client.prefix, store });
  }

  /** Since its last movement, or since there is something to move, whichever is later. */
  private standsMs(mover: Mover, work: readonly OpenWork[], atMs: number): number {
    const open = work.find(({ handler, kind }) => handler === mover.handler && kind === mover.kind);
    if (open === undefined) return 0;
    const moved = this.options.downstream.movedAt(mover.name) ?? -Infinity;
    return Math.max(0, Math.min(open.ms, atMs - moved));
  }

  private async explainAll(work: readonly OpenWork[]): Promise<Answers['explained']> {
    const tasks = MOVERS.flatMap(({ name, handler, kind }) => {
      const task = work.find((one) => one.handler === handler && one.kind === kind)?.task ?? null;
      return task === null ? [] : [{ name, task }];
    });
    return new Map(
      await Promise.all(
        tasks.map(
          async ({ name, task }) => [name, await this.ask('explain', this.options.client.explain(task))] as const,
        ),
      ),
    );
  }

  private async health(url: string, worker: number): Promise<WorkerHealth> {
    const asked = fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS) }).then(
      async (response) => (await response.json()) as { parts: WorkerHealth['parts'] },
    );
    const answer = await this.ask('healthz', asked);
    return { worker, parts: answer?.parts ?? null };
  }

  private async ask<T>(source: string, answer: Promise<T>): Promise<T | null> {
    try {
      return await inTime(answer);
    } catch (error) {
      this.unanswered[source] = (this.unanswered[source] ?? 0) + 1;
      if (source !== 'healthz') this.options.log(`the witness got no answer from ${source}: ${String(error)}`);
      return null;
    }
  }
}

const inTime = async <T>(answer: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${DEADLINE_MS} ms`)), DEADLINE_MS);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
};
