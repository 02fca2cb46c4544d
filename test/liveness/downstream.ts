import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ItemResult, ReferenceStatus, SubmitAnswer } from '../../handlers';
import { ACCEPTED, asksOf, CALLBACKS, LANE, LANE_ACCEPTED } from './movers';

/**
 * The other side, in this process: takes, accepts and finishes batches, is told of ends, and keeps
 * when each of that happened last.
 */

interface Call {
  handler: string;
  target: string;
  key: string;
  tasks: { id: string; n: number }[];
}
interface Known {
  call: Call;
  doneAtMs: number;
}
const FINISHES_MS = 500;
const FINDINGS = 20;

export class Downstream {
  /** Times of its movements, by mover, and by mover and target. */
  private readonly moves = new Map<string, number[]>();
  private readonly known = new Map<string, Known>();
  /** Effects by id. */
  readonly effects = new Map<string, number>();
  /** Tasks that had an effect, by handler. */
  private readonly done = new Map<string, number>();
  /** Ids of which a callback spoke. */
  readonly told = new Set<string>();
  private readonly last = new Map<string, number>();
  /** When tasks had their first effect, in order. */
  readonly effectsMs: number[] = [];
  /** Further routes, by path. */
  readonly routes = new Map<string, (body: unknown, headers: IncomingHttpHeaders) => unknown>();
  inversions = 0;
  readonly findings: string[] = [];
  private server!: Server;
  url = '';

  static async start(): Promise<Downstream> {
    const one = new Downstream();
    one.server = createServer((request, response) => {
      one
        .serve(request)
        .then((answer) => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer)))
        .catch(() => response.destroy()); // the caller died while it spoke
    });
    await new Promise<void>((resolve) => one.server.listen(0, '127.0.0.1', resolve));
    one.url = `http://127.0.0.1:${(one.server.address() as AddressInfo).port}`;
    return one;
  }

  movedAt(mover: string): number | null {
    return this.moves.get(mover)?.at(-1) ?? null;
  }
  doneOf(handler: string): number {
    return this.done.get(handler) ?? 0;
  }
  /** The first movement from then on; null: none yet. */
  firstSince(mover: string, atMs: number): number | null {
    return this.moves.get(mover)?.find((one) => one >= atMs) ?? null;
  }
  /** Longest time between two movements from then until now, the ends included. */
  longestStill(mover: string, fromMs: number, toMs: number): number {
    const within = (this.moves.get(mover) ?? []).filter((one) => one > fromMs && one < toMs);
    const all = [fromMs, ...within, toMs];
    return Math.max(...all.slice(1).map((one, i) => one - all[i]!));
  }

  moved(mover: string, targets: readonly string[] = []): void {
    keep(this.moves, mover);
    for (const target of new Set(targets)) keep(this.moves, `${mover} ${target}`);
  }

  private async serve(request: IncomingMessage): Promise<unknown> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const route = this.routes.get(request.url!);
    if (route !== undefined) return route(body, request.headers);
    switch (request.url) {
      case '/submit':
        return this.take(body as Call);
      case '/status':
        return this.status((body as { references: string[] }).references);
      case '/results':
        return this.resultsOf((body as { reference: string }).reference);
      default:
        for (const { id } of (body as { data: { tasks: { id: string }[] } }).data.tasks) this.told.add(id);
        this.moved(CALLBACKS);
        return {};
    }
  }

  private take(call: Call): SubmitAnswer {
    const { handler, key } = call;
    this.moved(handler, [call.target]);
    if (!this.known.has(key)) {
      this.known.set(key, { call, doneAtMs: performance.now() + FINISHES_MS });
      this.effect(call);
    }
    return handler === ACCEPTED || handler === LANE_ACCEPTED
      ? { status: 'accepted', reference: key }
      : { results: oks(this.known.get(key)!.call) };
  }

  private effect({ handler, target, tasks }: Call): void {
    for (const { id, n } of tasks) {
      const times = (this.effects.get(id) ?? 0) + 1;
      this.effects.set(id, times);
      if (times === 1) {
        this.done.set(handler, this.doneOf(handler) + 1);
        this.effectsMs.push(performance.now());
      } else this.find(`doubled: ${id} had ${times} effects`);
      if (handler !== LANE && handler !== LANE_ACCEPTED) continue;
      const lane = `${handler} ${target}`;
      const before = this.last.get(lane) ?? -1;
      if (n < before) {
        this.inversions++;
        this.find(`out of order: ${id} of lane ${target} came after number ${before}`);
      }
      this.last.set(lane, Math.max(before, n));
    }
  }

  private status(references: readonly string[]): ReferenceStatus[] {
    const calls = references.flatMap((reference) => this.known.get(reference)?.call ?? []);
    if (calls.length > 0)
      this.moved(
        asksOf(calls[0]!.handler),
        calls.map(({ target }) => target),
      );
    return references.map((reference) => {
      const one = this.known.get(reference);
      if (one === undefined) return { reference, status: 'lost' };
      return { reference, status: performance.now() < one.doneAtMs ? 'pending' : 'done' };
    });
  }

  private resultsOf(reference: string): ItemResult[] {
    return oks(this.known.get(reference)!.call);
  }

  private find(text: string): void {
    if (this.findings.length < FINDINGS) this.findings.push(text);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

const keep = (all: Map<string, number[]>, key: string): void => {
  const times = all.get(key);
  if (times === undefined) all.set(key, [performance.now()]);
  else times.push(performance.now());
};

const oks = ({ tasks }: Call): ItemResult[] => tasks.map((_, index) => ({ index, status: 'ok' }));
