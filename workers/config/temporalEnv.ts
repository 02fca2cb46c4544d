import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnectionOptions } from '@temporalio/worker';
import type { Problem } from '../../handlers';
import type { Env } from '../../handlers/environment/variable';
import { readVariable, variableOf } from '../../handlers/environment/variable';
import { API_KEY, apiKey } from './settingsSchema';
import type { TlsOptions } from './tls';

/** What the environment says of Temporal. */
interface TemporalEnv {
  address?: string;
  namespace?: string;
  connection: Pick<NativeConnectionOptions, 'tls' | 'apiKey' | 'metadata'>;
}

/** Each may be in a file, which `<name>_FILE` names. */
const IN_FILES = [
  API_KEY,
  'TEMPORAL_TLS_CLIENT_KEY_DATA',
  'TEMPORAL_TLS_CLIENT_CERT_DATA',
  'TEMPORAL_TLS_SERVER_CA_CERT_DATA',
];

/** Reads TLS, API key and profiles as every Temporal tool does: TEMPORAL_* and the profile file. */
export const temporalEnv = (env: Env, problems: Problem[]): TemporalEnv => {
  try {
    const fromFiles = IN_FILES.flatMap((name): [string, string][] => {
      const { value, problem } = readVariable(env, name);
      if (problem !== undefined) problems.push({ path: name, message: problem });
      return value === undefined ? [] : [[name, value]];
    });
    const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
    const variables = Object.fromEntries([...given, ...fromFiles]);
    const { connectionOptions, namespace } = loadClientConnectConfig({
      overrideEnvVars: variables as Record<string, string>,
    });
    const { address, tls, apiKey: key, metadata } = connectionOptions;
    const parsed = apiKey.safeParse(key);
    if (key !== undefined && !parsed.success)
      problems.push({ path: variableOf(env, API_KEY), message: parsed.error.issues[0]!.message });
    return {
      ...(address == null ? {} : { address }),
      ...(namespace == null ? {} : { namespace }),
      connection: { tls, apiKey: key, metadata },
    };
  } catch (error) {
    problems.push({ path: 'TEMPORAL_*', message: `cannot be read: ${(error as Error).message}` });
    return { connection: {} };
  }
};

type Secured = Pick<TemporalEnv['connection'], 'tls' | 'apiKey'>;

/**
 * Returns the TLS options: the environment's, then the file's, and for an API key the usual ones.
 * An API key in the environment only switches TLS on, so the file still says how.
 */
export const tlsOf = (
  env: TemporalEnv['connection'],
  file: { tls?: boolean | TlsOptions; apiKey?: string },
): Secured['tls'] => {
  if (env.tls === true && typeof file.tls === 'object') return file.tls;
  return env.tls ?? file.tls ?? (file.apiKey === undefined ? undefined : true);
};
