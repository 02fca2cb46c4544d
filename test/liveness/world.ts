import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { Cleanup } from '../../examples/support/cleanup';
import { createStore } from '../../examples/support/database';
import type { EmbeddedPostgres, TemporalDev } from '../../workers/embedded';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import { freePorts } from '../helpers/machine/freePort';
import { restartPostgres, restartTemporal } from '../chaos/restart';
import type { Build } from '../cli/builds';
import { startCli } from '../cli/process';
import type { Proxy } from '../helpers/proxy';
import { startProxyOf } from '../helpers/proxy';
import { Crew } from '../stops/crew';
import { Disk } from './disk';
import { Downstream } from './downstream';
import { livenessHandlers, settingsEnv } from './handlers';
import { Load } from './load';
import { Witness } from './witness';

/**
 * The servers, the worker processes behind a proxy, the load, the downstream and the witness of a
 * run.
 */

const ROOT = process.cwd();
const CONFIG = path.join(ROOT, 'dist', 'test', 'liveness', 'config.js');
const BIN = path.join(ROOT, 'bin', 'muster.js');
const MOST_WORKERS = 8;
/** Processes die here, not the machine: without fsync the disk is left alone. */
const POSTGRES = { fsync: 'off' };

export interface WorldOptions {
  workers: number;
  rate: number;
  leaders: number;
  seed: number;
  log: (line: string) => void;
  /** Config file of the workers; default: with the handlers only. */
  config?: string;
  /** Size of a disk in memory that only Postgres has; default: it shares the machine's. */
  diskBytes?: number;
}

export class World {
  readonly cleanup = new Cleanup();
  readonly prefix = `liveness-${randomBytes(4).toString('hex')}`;
  readonly runDir = mkdtempSync(path.join(os.tmpdir(), 'muster-liveness-'));
  crew!: Crew;
  load!: Load;
  witness!: Witness;
  downstream!: Downstream;
  proxy!: Proxy;
  /** Straight to the store. */
  store!: pg.Pool;
  /** Of the witness and of the judge: straight to the store, too. */
  client!: Client;
  /** Of who gives work in: through the proxy. */
  submitting!: Client;
  databaseUrl = '';
  /** Environment that a worker of this place is started with, beside all others'. */
  readonly envOf = new Map<number, Record<string, string>>();
  /** Program of the worker of a place; without one, this checkout's. */
  readonly binOf = new Map<number, string>();
  /** A later release, once there is one. */
  newer: Build | null = null;
  /** Only there if one was asked for. */
  disk: Disk | null = null;
  private temporalFiles = 1;
  private postgres!: EmbeddedPostgres;
  private temporal!: TemporalDev;
  /** Keeps the server's warnings with the files of the run: why its timers were late, perhaps. */
  private readonly temporalSays = (line: string): void => {
    if (existsSync(this.runDir)) appendFileSync(path.join(this.runDir, 'temporal.log'), `${line}\n`);
  };
  private ports: number[] = [];
  passed = false;

  private constructor(readonly options: WorldOptions) {}

  static async start(options: WorldOptions): Promise<World> {
    const world = new World(options);
    try {
      await world.startServers();
      await world.startProcesses();
      return world;
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  private async startServers(): Promise<void> {
    const { cleanup, runDir } = this;
    cleanup.add('the folder of the run', async () => {
      if (this.passed) rmSync(runDir, { recursive: true, force: true });
      else this.options.log(`files of the run: ${runDir}`);
    });
    if (this.options.diskBytes !== undefined) {
      this.disk = Disk.mount(path.join(runDir, 'disk'), this.options.diskBytes);
      cleanup.add('the disk of Postgres', async () => this.disk!.unmount());
    }
    this.postgres = await startPostgres({ dataDir: this.postgresDir, settings: POSTGRES });
    cleanup.add('Postgres', () => this.postgres.stop());
    this.temporal = await startTemporalDev({ dbFilename: this.temporalFile, log: this.temporalSays });
    cleanup.add('Temporal', () => this.temporal.stop());
    this.databaseUrl = await createStore(this.postgres.url, 'liveness');
    this.proxy = await startProxyOf(this.databaseUrl);
    cleanup.add('the proxy', () => this.proxy.stop());
    this.store = new pg.Pool({
      connectionString: this.databaseUrl,
      max: 4,
      application_name: 'liveness witness',
      options: '-c search_path=muster',
    });
    this.store.on('error', () => undefined);
    cleanup.add('the connections of the witness', () => this.store.end());
    this.downstream = await Downstream.start();
    cleanup.add('the downstream', () => this.downstream.stop());
  }

  private async startProcesses(): Promise<void> {
    const { cleanup, options, prefix, downstream } = this;
    const { rate, leaders, seed, log, workers } = options;
    const handlers = livenessHandlers({ downstream: downstream.url, leaders });
    const temporal = { address: this.address };
    this.client = createClient({ databaseUrl: this.databaseUrl, handlers, prefix, temporal });
    cleanup.add('the client of the witness', () => this.client.close());
    const submitting = (this.submitting = createClient({
      databaseUrl: this.proxy.through(this.databaseUrl),
      handlers,
      prefix,
      temporal,
    }));
    cleanup.add('the submitting client', () => submitting.close());
    const chosen = await freePorts(...Array.from({ length: MOST_WORKERS }, (_, i) => `p${i}`));
    this.ports = Object.values(chosen);
    this.crew = new Crew(workers, (place) => this.startWorker(place), log);
    cleanup.add('the workers', () => this.crew.stop());
    cleanup.add('what the workers said', async () =>
      writeFileSync(path.join(this.runDir, 'workers.err'), this.crew.said()),
    );
    await this.crew.ready();
    this.load = new Load({ client: submitting, rate, seed, leaders, callbackUrl: `${downstream.url}/ends` });
    cleanup.add('the load', () => this.load.stop());
    this.witness = new Witness({
      client: this.client,
      store: this.store,
      downstream,
      healthz: () => this.ports.slice(0, this.crew.size || workers).map((port) => `http://127.0.0.1:${port}/healthz`),
      file: path.join(this.runDir, 'rounds.ndjson'),
      standingFile: path.join(this.runDir, 'standing.ndjson'),
      log,
    });
    cleanup.add('the witness', () => this.witness.stop());
  }

  private startWorker(place: number) {
    const env = {
      MUSTER_DATABASE_URL: this.proxy.through(this.databaseUrl),
      TEMPORAL_ADDRESS: this.address,
      MUSTER_PREFIX: this.prefix,
      ...settingsEnv({ downstream: this.downstream.url, leaders: this.options.leaders }),
      ...this.envOf.get(place),
    };
    const args = [
      'worker',
      '--config',
      this.options.config ?? CONFIG,
      '--shutdown-grace',
      '3s',
      '--metrics-port',
      String(this.ports[place]),
    ];
    return startCli(args, { cwd: this.runDir, bin: this.binOf.get(place) ?? BIN, env });
  }

  private get temporalFile(): string {
    return path.join(this.runDir, `temporal-${this.temporalFiles}.db`);
  }
  private get postgresDir(): string {
    return path.join(this.disk?.folder ?? this.runDir, 'postgres');
  }
  private get address(): string {
    return this.temporal.address;
  }
  get temporalPid(): number {
    return this.temporal.pid;
  }

  /** SIGKILL, away for a while, then on the same port and file. */
  async restartTemporal(awayMs: number): Promise<void> {
    this.temporal = await restartTemporal(this.temporal, this.temporalFile, awayMs, this.temporalSays);
  }

  /** The same, and all that it had is lost. */
  async emptyTemporal(awayMs: number): Promise<void> {
    this.temporalFiles++;
    await this.restartTemporal(awayMs);
  }

  /** SIGKILL, away for a while, then on the same port and files. */
  async restartPostgres(awayMs: number): Promise<void> {
    this.postgres = await restartPostgres(this.postgres, awayMs, POSTGRES);
  }

  /** Until Postgres takes writes; if it ended by itself, it is started again. */
  async untilPostgresWrites(): Promise<void> {
    let ended = false;
    const watch = (): void => void this.postgres.exited.then(() => (ended = true));
    const takesWrites = (): Promise<boolean> =>
      this.store.query('select pg_current_xact_id()').then(
        () => true,
        () => false,
      );
    for (watch(); !(await takesWrites()); await sleep(100)) {
      if (!ended) continue;
      ended = false;
      await this.restartPostgres(0);
      watch();
    }
  }

  async stop(): Promise<void> {
    await this.cleanup.run();
  }
}
