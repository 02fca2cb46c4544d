import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../helpers/machine/freePort';
import { Place, STOP_MS } from './crew';
import type { Interruption } from './judge/checker';
import type { Reported } from './crew';
import type { Kill } from './plan';
import type { Arming, Marked, Report } from './points';
import { BACKEND_POINT, CALL_POINTS, CLIENT_POINT, DOWNSTREAM_POINT, SERVER_POINT } from './points';
import { Reaper } from './reaper';
import type { Scenario } from './scenario';
import type { Servers } from './servers';

const WORKERS = 3;
const SUBMITTERS = ['a', 'b'];
/** A point that nobody reaches for this long is tried again later. */
const REACH_MS = 20_000;

export interface Struck {
  kill: Kill;
  how: Kill['how'];
  live: number;
  marked?: Marked[];
}

/**
 * The processes of a run and what befalls them. A kill counts only if the victim reported the point
 * with live work.
 */
export class Harness {
  readonly workers: Place[];
  readonly submitters: Place[];
  readonly acked = new Map<string, number>(SUBMITTERS.map((name) => [name, 0]));
  readonly downstream: Place;
  /** What befell the workers. */
  readonly interruptions: Interruption[] = [];
  private readonly reaper = new Reaper();
  private url = '';
  /** A downstream that begins again does so where it was, which no connection may have taken meanwhile. */
  private port = 0;
  private onReport: (report: Reported) => void = () => undefined;
  private readonly prefix = `chaos-${randomBytes(4).toString('hex')}`;

  constructor(
    private readonly servers: Servers,
    private readonly runDir: string,
    bundle: string,
    private readonly log: (line: string) => void,
    private readonly scenario: Scenario,
  ) {
    const common = () => ({ databaseUrl: servers.databaseUrl, address: servers.address, prefix: this.prefix, runDir });
    const take = (place: Place, line: Record<string, unknown>): void => this.take(place, line);
    this.downstream = new Place(
      'downstream',
      scenario.downstream,
      () => ({ runDir, port: this.port }),
      runDir,
      this.reaper,
      take,
    );
    this.workers = Array.from(
      { length: WORKERS },
      (_, index) =>
        new Place(
          `worker-${index}`,
          scenario.worker,
          () => ({ ...common(), index, bundle, downstream: this.url, settings: scenario.settings }),
          runDir,
          this.reaper,
          take,
        ),
    );
    this.submitters = SUBMITTERS.map(
      (name) =>
        new Place(
          `submitter-${name}`,
          scenario.submitter,
          () => ({ ...common(), name, from: this.acked.get(name), settings: scenario.settings }),
          runDir,
          this.reaper,
          take,
        ),
    );
  }

  async start(): Promise<void> {
    this.port = await freePort();
    this.downstream.start();
    await until(() => this.downstream.ready, 10_000, 'the downstream');
    for (const place of [...this.workers, ...this.submitters]) place.start();
    await until(() => this.all().every((place) => place.isHealthy()), 60_000, 'all processes to be ready');
  }

  /** Whether a stopped process has not gone on yet. */
  get someStandStill(): boolean {
    return this.all().some(({ stopped }) => stopped);
  }

  private all(): Place[] {
    return [...this.workers, ...this.submitters, this.downstream];
  }

  private take(place: Place, line: Record<string, unknown>): void {
    if (line['port'] !== undefined) {
      this.url = `http://127.0.0.1:${line['port'] as number}`;
    }
    if (line['acked'] !== undefined)
      this.acked.set(place.label.slice('submitter-'.length), (line['acked'] as number[])[1]!);
    else if (line['point'] !== undefined) this.onReport({ ...(line as unknown as Report), place });
  }

  /** Tasks a second in all, and the highest number of each submitter. */
  pace(rate: number, untilEach: number): void {
    for (const place of this.submitters) place.order({ rate: rate / SUBMITTERS.length, until: untilEach });
  }

  submitted(): number {
    return [...this.acked.values()].reduce((sum, n) => sum + n, 0);
  }

  /** Null: the point was not reached, or with nothing at hand; not counted. */
  async strike(kill: Kill): Promise<Struck | null> {
    await until(() => this.workers.filter((place) => place.isHealthy()).length >= 2, 60_000, 'two healthy workers');
    if (kill.point === SERVER_POINT) return this.restartServer(kill);
    // A process may reach the point with nothing at stake, as a leader that continues as new
    // between two arrivals: then the next one is taken.
    for (const deadline = performance.now() + REACH_MS; performance.now() < deadline;) {
      const report = await this.reach(kill);
      if (report === null) return null;
      const struck = await this.strikeAt(kill, report);
      if (struck !== null) return struck;
    }
    return null;
  }

  private async strikeAt(kill: Kill, report: Reported): Promise<Struck | null> {
    const { place, token } = report;
    const victim = report.worker === undefined ? place : this.workers[report.worker]!;
    const live = report.leaderId === undefined ? report.live : await this.waiting(report.leaderId);
    if (live === 0 || !victim.isHealthy()) {
      place.go(token);
      return null;
    }
    const how = kill.how === 'stop' && this.someStandStill ? 'kill' : kill.how;
    const worker = this.workers.indexOf(victim);
    // What the downstream reads of a killed worker before the next one is there was sent before.
    if (worker >= 0 && kill.point !== BACKEND_POINT)
      this.interruptions.push({ worker, atMs: Date.now(), forMs: how === 'stop' ? STOP_MS : kill.restartAfterMs });
    if (kill.point === BACKEND_POINT) {
      const lost = await this.terminate(victim.label.replace('-', ' '));
      place.go(token, lost > 0 && kill.variant >= 2);
    } else if (how === 'stop') victim.stop(token);
    else await victim.kill(kill.point === CLIENT_POINT ? kill.restartAfterMs * 4 : kill.restartAfterMs);
    if (victim !== place) place.go(token); // the downstream goes on, its caller does not
    return { kill, how, live, ...(report.marked === undefined ? {} : { marked: report.marked }) };
  }

  private async reach(kill: Kill): Promise<Reported | null> {
    const isCall = [...CALL_POINTS, DOWNSTREAM_POINT].includes(kill.point);
    const places = isCall ? [this.downstream] : kill.point === CLIENT_POINT ? this.submitters : this.workers;
    const token = randomBytes(4).toString('hex');
    let first: Reported | null = null;
    const reached = new Promise<void>((resolve) => {
      this.onReport = (report) => {
        if (report.token.startsWith(token) && first === null) {
          first = report;
          resolve();
        } else report.place.go(report.token);
      };
    });
    places.forEach((place, i) => {
      const arming: Arming = { arm: kill.point, variant: kill.variant, token: `${token}-${i}` };
      if (place.isHealthy()) place.order(arming);
    });
    await Promise.race([reached, sleep(REACH_MS, undefined, { ref: false })]);
    for (const place of places) place.order({ disarm: true });
    return first;
  }

  private async restartServer(kill: Kill): Promise<Struck | null> {
    let live = 0;
    for (const deadline = performance.now() + REACH_MS; live === 0; await sleep(20)) {
      if (performance.now() > deadline) return null;
      const { rows } = await this.servers.store.query<{ n: number }>(this.scenario.liveSql);
      live = rows[0]!.n;
    }
    await this.servers.restartTemporal(kill.restartAfterMs);
    return { kill, how: 'restart', live };
  }

  private async waiting(leaderId: number): Promise<number> {
    const { rows } = await this.servers.store.query<{ n: number }>(this.scenario.waitingSql, [leaderId]);
    return rows[0]!.n;
  }

  private async terminate(who: string): Promise<number> {
    const text = 'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1';
    const { rowCount } = await this.servers.store.query(text, [`chaos ${who}`]);
    return rowCount ?? 0;
  }

  /**
   * Every process up, no task anywhere but at an end (or parked), and every leader at rest: true.
   * False: nothing moved for `stillMs`, or `timeoutMs` passed.
   */
  async drain(stillMs: number, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    let last = Infinity;
    for (let moved = performance.now(); performance.now() < Math.min(deadline, moved + stillMs); await sleep(200)) {
      const { rows } = await this.servers.store.query<{ n: number }>(this.scenario.openSql);
      const { n } = rows[0]!;
      if (n === 0 && this.all().every((place) => place.isHealthy())) return true;
      if (n !== last) moved = performance.now();
      last = n;
    }
    const left = await this.servers.store.query<{ row: string }>(this.scenario.leftSql);
    for (const { row } of left.rows) this.log(row);
    this.log(
      `not drained, ${last} tasks, batches and leaders are left; the run's files are in ${path.resolve(this.runDir)}`,
    );
    return false;
  }

  crashes(): number {
    return this.all().reduce((sum, place) => sum + place.crashes, 0);
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((place) => place.close()));
    this.reaper.end();
  }
}

const until = async (is: () => boolean, timeoutMs: number, what: string): Promise<void> => {
  for (const deadline = performance.now() + timeoutMs; !is(); await sleep(20))
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what}`);
};
