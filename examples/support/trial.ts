import { startPostgres, startTemporalDev } from '../../workers/embedded';
import { Cleanup } from './cleanup';
import { createStore } from './database';
import { runMain } from './server';

/**
 * What an example tries out, on its own servers: it ends by itself with its result, and says by
 * its exit code whether that is as it should be.
 */
export interface Trial<R> {
  run(cleanup: Cleanup): Promise<R>;
  isGood(result: R): boolean;
  /** For a person; with `json` one line of JSON instead. */
  describe(result: R): string;
  json: boolean;
}

export const runTrial = <R>({ run, isGood, describe, json }: Trial<R>): void =>
  runMain(async () => {
    const cleanup = new Cleanup();
    try {
      const result = await run(cleanup);
      process.stdout.write(`${json ? JSON.stringify(result) : describe(result)}\n`);
      process.exitCode = isGood(result) ? 0 : 1;
    } finally {
      await cleanup.run();
    }
  });

/** A Postgres with Muster's tables and a Temporal dev server. */
export const startServers = async (cleanup: Cleanup): Promise<{ databaseUrl: string; temporal: string }> => {
  const postgres = await startPostgres({ log: () => undefined });
  cleanup.add('Postgres', () => postgres.stop());
  const temporal = await startTemporalDev({ ui: false, log: () => undefined });
  cleanup.add('Temporal', () => temporal.stop());
  return { databaseUrl: await createStore(postgres.url, 'muster'), temporal: temporal.address };
};
