import type { HandlerStatus } from '../../workflows/contracts/handler';
import type { NodeView } from '../../workflows/contracts/node';
import { isPoolerFault } from '../../postgres/errors';
import { createPool } from '../../postgres/pool';
import type { Settings } from '../config/config';
import type { Check } from './check';
import { failedBy, look, ok } from './check';
import { checkPooler } from './pooler';
import { checkPostgres } from './postgres';
import { checkTemporal } from './temporal';
import { checkHandlers } from './workers';
import { some } from '../../workflows/planning/webUi/some';

/** What the doctor asks the store for, by the client. */
export interface Store {
  status(): Promise<HandlerStatus[]>;
  nodes(): Promise<NodeView[]>;
}

/** What the doctor found. */
export interface Diagnosis {
  /** Nothing failed; there may be warnings. */
  ok: boolean;
  checks: Check[];
}

/**
 * Looks at everything that an installation stands on, and changes nothing, but for a workflow that
 * measures Temporal's timers and ends. `store`: what is asked for once its tables are known to be
 * there.
 */
export const examine = async (settings: Settings, store: Store): Promise<Diagnosis> => {
  const [ofPostgres, ofTemporal] = await Promise.all([
    examineStore(settings, store),
    checkTemporal(settings.temporal, settings.prefix),
  ]);
  return diagnosisOf([configCheck(settings), ...ofPostgres, ...ofTemporal]);
};

/** Returns what is found where the settings cannot be read: every problem of them, and no more. */
export const examineProblems = (error: Error): Diagnosis => diagnosisOf([failedBy('config', error)]);

const diagnosisOf = (checks: Check[]): Diagnosis => ({ ok: checks.every(({ state }) => state !== 'failed'), checks });

const configCheck = ({ config, handlers, executions }: Settings): Check => {
  if (config === null) return ok('config', 'none was found, and none was named');
  return ok('config', `${config}: ${some(handlers.length, 'handler')}, ${some(executions.functions.size, 'function')}`);
};

const examineStore = async ({ databaseUrl, schema, handlers }: Settings, store: Store): Promise<Check[]> => {
  const pool = createPool({ databaseUrl: databaseUrl!, schema, max: 2, applicationName: 'muster doctor' });
  try {
    const pooler = (): Promise<Check> => look('pooler', () => checkPooler(databaseUrl!));
    let found: Check[];
    try {
      found = await checkPostgres(pool);
    } catch (error) {
      // A server that is away is tried once: no pooler says so.
      return [failedBy('postgres', error), ...(isPoolerFault(error) ? [await pooler()] : [])];
    }
    const [postgres, ...others] = found;
    const checks = [postgres!, await pooler(), ...others];
    if (checks.some(({ name, state }) => ['postgres', 'tables'].includes(name) && state === 'failed')) return checks;
    const names = handlers.map(({ name }) => name);
    return [...checks, ...checkHandlers(names, await store.status(), await store.nodes())];
  } catch (error) {
    return [failedBy('handlers', error)];
  } finally {
    await pool.end();
  }
};
