import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A real HTTP downstream that counts the calls that it has open, and keeps them until the test
 * answers them.
 */
export class Gauge {
  inFlight = 0;
  private readonly open = new Set<ServerResponse>();
  private readonly server: Server;
  private atOnce = false;

  constructor(private readonly retryAfterMs: number) {
    this.server = createServer((request, response) => this.take(request, response));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  /** Answers every call that is open. */
  answerAll(status: 200 | 429): void {
    for (const response of [...this.open]) this.end(response, status);
  }

  /** Answers everything that is open, and what comes. */
  letGo(): void {
    this.atOnce = true;
    this.answerAll(200);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    this.inFlight++;
    this.open.add(response);
    response.on('close', () => this.forget(response));
    if (this.atOnce) this.end(response, 200);
  }

  private end(response: ServerResponse, status: number): void {
    if (this.forget(response)) response.writeHead(status, { 'retry-after-ms': String(this.retryAfterMs) }).end();
  }

  private forget(response: ServerResponse): boolean {
    const was = this.open.delete(response);
    if (was) this.inFlight--;
    return was;
  }
}

/** What was allowed and what was in flight at one moment. */
export interface Sample {
  atMs: number;
  allowed: number;
  inFlight: number;
}

const EVERY_MS = 25;

/** Samples both every 25 ms until `stop`. */
export class Watch {
  readonly samples: Sample[] = [];
  private going = true;
  private readonly loop: Promise<void>;
  private readonly startedAt = performance.now();

  constructor(
    private readonly gauge: Gauge,
    private readonly readAllowed: () => Promise<number>,
  ) {
    this.loop = this.run();
  }

  get last(): Sample | undefined {
    return this.samples.at(-1);
  }

  /**
   * Since when, without a break, so many have been allowed (`allowed`), or in flight; null: they
   * are not.
   */
  since(what: 'allowed' | 'inFlight', n: number): number | null {
    const before = this.samples.findLastIndex((sample) => sample[what] !== n);
    return this.samples[before + 1]?.atMs ?? null;
  }

  /**
   * Sums up by how much this process and the database were late between two moments: each sample
   * is one read and a rest of 25 ms, so what is beyond twice that is the machine's.
   */
  lateMs(from: number, to: number): number {
    const within = this.samples.filter(({ atMs }) => atMs >= from && atMs <= to);
    const gaps = within.slice(1).map(({ atMs }, i) => atMs - within[i]!.atMs);
    return gaps.reduce((sum, gap) => sum + Math.max(0, gap - 2 * EVERY_MS), 0);
  }

  async stop(): Promise<void> {
    this.going = false;
    await this.loop;
  }

  /** Every change, as `0.42s 16/8`: allowed and in flight. */
  toString(): string {
    const changes = this.samples.filter(
      ({ allowed, inFlight }, i, all) => allowed !== all[i - 1]?.allowed || inFlight !== all[i - 1]?.inFlight,
    );
    return changes
      .map(({ atMs, allowed, inFlight }) => `${(atMs / 1000).toFixed(2)}s ${allowed}/${inFlight}`)
      .join('  ');
  }

  private async run(): Promise<void> {
    while (this.going) {
      const allowed = await this.readAllowed();
      this.samples.push({ atMs: performance.now() - this.startedAt, allowed, inFlight: this.gauge.inFlight });
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }
}
