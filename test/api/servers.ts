import { createStore } from '../../examples/support/database';
import { startPostgres, startTemporalDev } from '../../workers/embedded';
import { TEMPLATE_DATABASE } from '../helpers/database';

/**
 * The servers that jest's global setup starts for tests, for a script; answers how to stop them.
 */
export const startServers = async (settings: Record<string, string> = {}): Promise<() => Promise<void>> => {
  const log = (): void => undefined;
  const [postgres, temporal] = await Promise.all([
    startPostgres({ settings, log }),
    startTemporalDev({ ui: false, log }),
  ]);
  await createStore(postgres.url, TEMPLATE_DATABASE);
  process.env['MUSTER_TEST_POSTGRES_URL'] = postgres.url;
  process.env['MUSTER_TEST_TEMPORAL_ADDRESS'] = temporal.address;
  return async () => {
    await Promise.all([postgres.stop(), temporal.stop()]);
  };
};
