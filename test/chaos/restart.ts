import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import type { EmbeddedPostgres, TemporalDev } from '../../workers/embedded';

/** SIGKILL, away for a while, then on the same port and file. */
export const restartTemporal = async (
  temporal: TemporalDev,
  dbFilename: string,
  awayMs: number,
  log: (line: string) => void = () => undefined,
): Promise<TemporalDev> => {
  const port = Number(temporal.address.split(':')[1]);
  temporal.kill();
  await temporal.exited;
  await temporal.stop();
  await sleep(awayMs);
  return startTemporalDev({ dbFilename, port, log });
};

/** The same of Postgres, on its files. */
export const restartPostgres = async (
  postgres: EmbeddedPostgres,
  awayMs: number,
  settings: Record<string, string>,
): Promise<EmbeddedPostgres> => {
  const { port, dataDir } = postgres;
  postgres.kill();
  await postgres.exited;
  await postgres.stop();
  await sleep(awayMs);
  return startPostgres({ dataDir, port, settings });
};
