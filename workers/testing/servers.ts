import { startPostgres, startTemporalDev } from '../embedded';

/** Postgres and Temporal of a run of tests. */
export interface Servers {
  /** Of Postgres' superuser, with its password. */
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  stop(): Promise<void>;
}

/**
 * Starts Postgres and Temporal for all test files of a run, in a runner's global set-up, which
 * passes `databaseUrl` and `temporalAddress` on to `startMuster({ servers })` of each file. They
 * end with the process at the latest. `log` gets what they say, line by line.
 */
export const startServers = async ({ log }: { log?: (line: string) => void } = {}): Promise<Servers> => {
  const started = await Promise.allSettled([
    // A test survives no crash of the machine: without fsync it takes half the time.
    startPostgres({ settings: { fsync: 'off' }, ...(log === undefined ? {} : { log }) }),
    startTemporalDev({ ui: false, ...(log === undefined ? {} : { log }) }),
  ]);
  const [postgres, temporal] = started.map((one) => (one.status === 'fulfilled' ? one.value : null));
  const stop = async (): Promise<void> => {
    await Promise.all([temporal?.stop(), postgres?.stop()]);
  };
  for (const one of started)
    if (one.status === 'rejected') {
      await stop();
      throw one.reason;
    }
  const [{ url }, { address }] = [postgres, temporal] as [{ url: string }, { address: string }];
  return { databaseUrl: url, temporalAddress: address, stop };
};
