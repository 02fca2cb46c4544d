import { setTimeout as sleep } from 'node:timers/promises';
import { Wire } from './wire';

/** An honest caller: single tasks, at a fixed rate or as fast as a few connections go. */

export interface Caller {
  port: number;
  token: string;
  /** The ids of its tasks begin with it, and go on with `name`. */
  tenant: string;
  name: string;
  handler: string;
  target: string;
}

export interface Told {
  sent: number;
  perS: number;
  /** Ids that were answered 200. */
  accepted: string[];
  /** All others, by status; 0: no answer; `unsent`: too many without an answer. */
  refused: Record<string, number>;
  latenciesMs: number[];
}

const noneTold = (): Told => ({ sent: 0, perS: 0, accepted: [], refused: {}, latenciesMs: [] });

/** Most requests of a paced caller without an answer: one that is busy holds up no other task. */
const CONNECTIONS = 256;
/** An honest caller does not come again at once when it was refused. */
const REFUSED_MS = 50;

/** A caller's tasks, by ids that it never uses twice. */
export class Honest {
  private no = 0;
  private readonly free: Wire[] = [];
  private readonly all: Wire[] = [];

  constructor(private readonly caller: Caller) {}

  /**
   * Submits one task every `everyMs` for so long. An answer's time counts from when the task was to
   * be sent, so that one that comes late shows in the next ones.
   */
  async paced(everyMs: number, forMs: number): Promise<Told> {
    const told = noneTold();
    const begun = performance.now();
    const open: Promise<void>[] = [];
    for (let due = begun; due < begun + forMs; due += everyMs) {
      await sleep(Math.max(0, due - performance.now()));
      open.push(this.one(told, due));
    }
    await Promise.all(open);
    return { ...told, perS: told.accepted.length / (forMs / 1_000) };
  }

  /** Submits as fast as `parallel` connections go, for so long. */
  async atTop(parallel: number, forMs: number): Promise<Told> {
    const told = noneTold();
    const begun = performance.now();
    const until = begun + forMs;
    await Promise.all(
      Array.from({ length: parallel }, async () => {
        while (performance.now() < until) await this.one(told, performance.now());
      }),
    );
    return { ...told, perS: told.accepted.length / ((performance.now() - begun) / 1_000) };
  }

  close(): void {
    for (const wire of this.all) wire.close();
  }

  private async one(told: Told, dueAt: number): Promise<void> {
    const { token, tenant, name, handler, target } = this.caller;
    const id = `${tenant}/${name}-${this.no++}`;
    told.sent++;
    const wire = this.free.pop() ?? this.another();
    if (wire === null) return void (told.refused['unsent'] = (told.refused['unsent'] ?? 0) + 1);
    const body = JSON.stringify({ tasks: [{ id, payload: { to: target } }] });
    const { status } = await wire.send(`POST /v1/handlers/${handler}/tasks`, token, body);
    this.free.push(wire);
    told.latenciesMs.push(performance.now() - dueAt);
    if (status === 200) told.accepted.push(id);
    else {
      told.refused[status] = (told.refused[status] ?? 0) + 1;
      await sleep(REFUSED_MS);
    }
  }

  private another(): Wire | null {
    if (this.all.length >= CONNECTIONS) return null;
    const wire = new Wire(this.caller.port);
    this.all.push(wire);
    return wire;
  }
}

/** Joins what was told in several turns. */
export const joined = (parts: readonly Told[]): Told => {
  const all = noneTold();
  for (const part of parts) {
    all.sent += part.sent;
    all.perS += part.perS / parts.length;
    // One by one: of ten minutes they are more than a call can take as arguments.
    for (const id of part.accepted) all.accepted.push(id);
    for (const ms of part.latenciesMs) all.latenciesMs.push(ms);
    for (const [status, n] of Object.entries(part.refused)) all.refused[status] = (all.refused[status] ?? 0) + n;
  }
  return all;
};

export interface Spread {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

export const spreadOf = (times: readonly number[]): Spread => {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10;
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
};

/** Returns b / a, with two decimals. */
export const ratio = (a: number, b: number): number => Math.round((b / a) * 100) / 100;
