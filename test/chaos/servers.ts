import path from 'node:path';
import pg from 'pg';
import { createStore } from '../../examples/support/database';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import type { EmbeddedPostgres, TemporalDev } from '../../workers/embedded';
import { restartTemporal } from './restart';

/** Postgres, and the Temporal dev server on a file, so that it can be killed and come back. */
export class Servers {
  private constructor(
    private readonly postgres: EmbeddedPostgres,
    private temporal: TemporalDev,
    private readonly file: string,
    readonly databaseUrl: string,
    /** The harness's own eyes: one connection pool, plain SQL. */
    readonly store: pg.Pool,
  ) {}

  static async start(runDir: string): Promise<Servers> {
    const file = path.join(runDir, 'temporal.db');
    const [postgres, temporal] = await Promise.all([
      // Processes die here, not the machine: without fsync the disk is left alone.
      startPostgres({ settings: { fsync: 'off' } }),
      startTemporalDev({ dbFilename: file }),
    ]);
    const databaseUrl = await createStore(postgres.url, 'chaos');
    const store = new pg.Pool({
      connectionString: databaseUrl,
      max: 4,
      application_name: 'chaos harness',
      options: '-c search_path=muster',
    });
    store.on('error', () => undefined);
    return new Servers(postgres, temporal, file, databaseUrl, store);
  }

  get address(): string {
    return this.temporal.address;
  }

  /** SIGKILL, away for a while, then on the same port and file. */
  async restartTemporal(awayMs: number): Promise<void> {
    this.temporal = await restartTemporal(this.temporal, this.file, awayMs);
  }

  async stop(): Promise<void> {
    await this.store.end().catch(() => undefined);
    await Promise.all([this.temporal.stop(), this.postgres.stop()]);
  }
}
