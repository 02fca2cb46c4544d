import { setTimeout as sleep } from 'node:timers/promises';
import { startTemporalDev } from '../../workers/embedded';
import type { TemporalDev } from '../../workers/embedded';

/** SIGKILL, away for a while, then on the same port and file. */
export const restartTemporal = async (
  temporal: TemporalDev,
  dbFilename: string,
  awayMs: number,
): Promise<TemporalDev> => {
  const port = Number(temporal.address.split(':')[1]);
  temporal.kill();
  await temporal.exited;
  await temporal.stop();
  await sleep(awayMs);
  return startTemporalDev({ dbFilename, port });
};
