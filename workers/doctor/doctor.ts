import type { HandlerStatus } from '../../workflows/contracts/handler';
import { createPool } from '../../postgres/pool';
import type { Settings } from '../config/config';
import type { Check } from './check';
import { failedBy } from './check';
import { checkPostgres } from './postgres';
import { checkTemporal } from './temporal';
import { checkHandlers } from './workers';

/** What the doctor found. */
export interface Diagnosis {
  /** Nothing failed; there may be warnings. */
  ok: boolean;
  checks: Check[];
}

/**
 * Looks at everything that an installation stands on, and changes nothing, but for a workflow that
 * measures Temporal's timers and ends. `status`: the handlers of the store, asked for once its
 * tables are known to be there.
 */
export const examine = async (settings: Settings, status: () => Promise<HandlerStatus[]>): Promise<Diagnosis> => {
  const [ofPostgres, ofTemporal] = await Promise.all([
    examineStore(settings, status),
    checkTemporal(settings.temporal, settings.prefix),
  ]);
  const checks = [...ofPostgres, ...ofTemporal];
  return { ok: checks.every(({ state }) => state !== 'failed'), checks };
};

const examineStore = async (
  { databaseUrl, schema, handlers }: Settings,
  status: () => Promise<HandlerStatus[]>,
): Promise<Check[]> => {
  const pool = createPool({ databaseUrl: databaseUrl!, schema, max: 2, applicationName: 'muster doctor' });
  try {
    const checks = await checkPostgres(pool);
    if (checks.some(({ name, state }) => ['postgres', 'tables'].includes(name) && state === 'failed')) return checks;
    const names = handlers.map(({ name }) => name);
    return [...checks, ...checkHandlers(names, await status())];
  } catch (error) {
    return [failedBy('handlers', error)];
  } finally {
    await pool.end();
  }
};
