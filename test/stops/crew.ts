import { setTimeout as sleep } from 'node:timers/promises';
import type { CliProcess } from '../cli/process';

const READY = /"msg":"ready"/;
/** As a supervisor waits. */
const AGAIN_MS = 500;

/**
 * The worker processes; one that ends by itself is followed by another, as a supervisor does it.
 */
export class Crew {
  /** Of workers that had been ready. */
  deaths = 0;
  /** Of workers that had not: their servers were away, or refused them. */
  failedStarts = 0;
  private stopping = false;
  private places: CliProcess[];

  constructor(
    workers: number,
    private readonly start: (place: number) => CliProcess,
    private readonly log: (line: string) => void,
  ) {
    this.places = Array.from({ length: workers }, (_, place) => this.fill(place));
  }

  private fill(place: number): CliProcess {
    const worker = this.start(place);
    void worker.exit.then(async (how) => {
      const isOurs = (): boolean => !this.stopping && this.places[place] === worker;
      if (!isOurs()) return;
      if (READY.test(worker.stdout() + worker.stderr())) this.deaths++;
      else this.failedStarts++;
      this.log(`worker ${place} ended by itself: ${how}\n${worker.stderr().slice(-2_000)}`);
      await sleep(AGAIN_MS);
      if (isOurs()) this.places[place] = this.fill(place);
    });
    return worker;
  }

  get size(): number {
    return this.places.length;
  }

  async ready(): Promise<void> {
    await Promise.all(this.places.map((worker) => worker.says(READY)));
  }

  pid(place: number): number {
    return this.places[place]!.child.pid!;
  }

  /** What they said on stderr. */
  said(): string {
    return this.places.map((worker) => worker.stderr()).join('');
  }

  /** One with SIGKILL, followed by another at once. */
  async kill(place: number): Promise<void> {
    const killed = this.places[place]!;
    this.places[place] = this.fill(place);
    killed.child.kill('SIGKILL');
    await killed.exit;
  }

  /** All at once with SIGKILL; nobody follows them before `restart`. */
  async killAll(): Promise<number> {
    const killed = this.places;
    this.places = [];
    for (const { child } of killed) child.kill('SIGKILL');
    await Promise.all(killed.map(({ exit }) => exit));
    return killed.length;
  }

  restart(workers: number): void {
    this.places = Array.from({ length: workers }, (_, place) => this.fill(place));
  }

  /** More of them, or fewer: those are drained. */
  async resize(workers: number): Promise<void> {
    const ended = this.places.slice(workers);
    this.places = this.places.slice(0, workers);
    for (const { child } of ended) child.kill('SIGTERM');
    await Promise.all(ended.map(({ exit }) => exit));
    while (this.places.length < workers) this.places.push(this.fill(this.places.length));
    await this.ready();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    for (const { child } of this.places) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      process.kill(child.pid!, 'SIGCONT');
      process.kill(child.pid!, 'SIGKILL');
    }
    await Promise.all(this.places.map(({ exit }) => exit));
  }
}
