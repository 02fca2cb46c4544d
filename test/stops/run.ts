import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCli } from '../cli/process';
import { stopInside } from './aim';
import { Crew } from './crew';
import { Load } from './load';
import { overriding } from './preload';

/**
 * Stops worker processes inside workflow code, again and again, while tasks arrive; sees whether
 * sending goes on.
 */

const ROOT = process.cwd();
const DIST = path.join(ROOT, 'dist', 'test', 'stops');
export const CONFIG = path.join(DIST, 'handlers.js');
/** Longest search for a moment at which workflow code runs. */
const AIM_MS = 5_000;
/** Between the end of one stop and the next. */
const PAUSE_MS = 1_000;
const STUCK_MS = 60_000;

export interface StopsOptions {
  databaseUrl: string;
  address: string;
  prefix: string;
  workers: number;
  stops: number;
  stopMs: number;
  /** Tasks per second. */
  rate: number;
  /** Lowers the limit of workflow code's time, to see what it is for. */
  isolateMs?: number | undefined;
  log: (line: string) => void;
}

export interface Figures {
  stops: number;
  /** Of these, in the middle of workflow code. */
  inside: number;
  workers: number;
  stopMs: number;
  /** Worker processes that ended by themselves. */
  deaths: number;
  /**
   * From the last stop's end until 64 tasks for all leaders and 64 for all lanes, submitted then,
   * had succeeded; null: not within a minute.
   */
  goesOnMs: number | null;
  /** From the last stop's end until every task had succeeded; null: not within two minutes. */
  drainedMs: number | null;
  accepted: number;
  seconds: number;
}

export const runStops = async (options: StopsOptions): Promise<Figures> => {
  const { databaseUrl, address, prefix, workers, stops, stopMs, rate, isolateMs, log } = options;
  const begun = performance.now();
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-stops-'));
  const env = {
    MUSTER_DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: address,
    MUSTER_PREFIX: prefix,
    ...(isolateMs === undefined ? {} : overriding({ isolateMs })),
  };
  const crew = new Crew(
    workers,
    () =>
      startCli(['worker', '--config', CONFIG, '--shutdown-grace', '3s'], {
        cwd: folder,
        bin: path.join(ROOT, 'bin', 'muster.js'),
        env,
      }),
    log,
  );
  const load = new Load({ databaseUrl, address, prefix, rate });
  try {
    await crew.ready();
    load.start();
    await load.succeeded(await load.probe());
    let inside = 0;
    for (let i = 0; i < stops; i++) {
      await sleep(PAUSE_MS);
      const pid = crew.pid(i % workers);
      const stop = await stopInside(pid, AIM_MS);
      if (stop.inside) inside++;
      await sleep(stopMs);
      process.kill(pid, 'SIGCONT');
      log(
        `stop ${i + 1} of ${stops}: process ${pid}, ${stop.inside ? 'inside' : 'outside of'} workflow code after ${stop.tries} tries; ${load.accepted} tasks, ${crew.deaths} deaths`,
      );
    }
    const goesOnMs = await load.succeeded(await load.probe(), STUCK_MS);
    if (goesOnMs === null) log(`sending does not go on; the workers say\n${crew.said().slice(-10_000)}`);
    const stoppedAt = performance.now() - (goesOnMs ?? STUCK_MS);
    await load.stop();
    const drained = goesOnMs !== null && (await load.drained(2 * STUCK_MS));
    return {
      stops,
      inside,
      workers,
      stopMs,
      deaths: crew.deaths,
      goesOnMs: goesOnMs === null ? null : Math.round(goesOnMs),
      drainedMs: drained ? Math.round(performance.now() - stoppedAt) : null,
      accepted: load.accepted,
      seconds: Math.round((performance.now() - begun) / 1_000),
    };
  } finally {
    await crew.stop();
    await load.close();
    rmSync(folder, { recursive: true, force: true });
  }
};
