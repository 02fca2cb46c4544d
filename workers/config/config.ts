import { USUAL_ADDRESS } from '../../client/usualAddress';
import path from 'node:path';
import type { NativeConnectionOptions } from '@temporalio/worker';
import type { z } from 'zod';
import type { CallbackPolicy } from '../../activities/deps';
import type { ExecutionSettings } from '../../activities/executions/settings';
import type { NodeSettings } from '../../activities/nodes/settings';
import type { SealerOptions } from '../../handlers/codec/sealer';
import type { Handler, Hooks, Problem } from '../../handlers';
import { readVariable, variableOf } from '../../handlers/environment/variable';
import type { ReapIntervals } from '../../postgres/fanouts/reap';
import { DEFAULT_PREFIX } from '../../workflows/naming';
import type { ApiSettings } from '../api/settings';
import { apiSettings } from '../api/settings';
import type { CallbackSettings } from './callbacks';
import { callbackPolicy, callbackProblems, callbackSettings } from './callbacks';
import { sealing } from './codec';
import type { ConfigFile } from './configFile';
import { CONFIG_NAMES, findConfig, loadConfig } from './configFile';
import type { DevServers } from '../dev/file';
import { readDevFile } from '../dev/file';
import { executionSettings } from './executions';
import { nodeProblems, nodeSettings } from './nodes';
import { DEFAULT_REAP } from '../sweeper/fanoutReaper';
import { SettingsError } from './settingsError';
import * as schemas from './settingsSchema';
import { temporalEnv, tlsOf } from './temporalEnv';
import type { TemporalPlugs } from '../temporal/plugs';
import type { LogLevel } from './settingsSchema';

/**
 * The only reader of the environment. The first of these counts: flag, environment, config file, a
 * `muster dev` of this folder, the default.
 */

export interface Flags {
  config?: string | undefined;
  databaseUrl?: string | undefined;
  schema?: string | undefined;
  prefix?: string | undefined;
  temporalAddress?: string | undefined;
  namespace?: string | undefined;
  logLevel?: string | undefined;
  callbackPort?: string | undefined;
  callbackHost?: string | undefined;
  callbackUrl?: string | undefined;
  nodeName?: string | undefined;
  apiPort?: string | undefined;
  apiHost?: string | undefined;
  apiOpen?: string | undefined;
  maxConnections?: string | undefined;
  maxCachedWorkflows?: string | undefined;
}

export interface TemporalSettings extends TemporalPlugs {
  address: string;
  namespace: string;
  /** TLS, API key, metadata: secrets, never printed. */
  connection: Pick<NativeConnectionOptions, 'tls' | 'apiKey' | 'metadata'>;
}

export interface Settings extends SealerOptions {
  /** Null only if no database is named and none was needed. */
  databaseUrl: string | null;
  schema: string;
  /** Most database connections of a process; null: its own default. */
  maxConnections: number | null;
  /** Most workflow runs that a worker keeps in memory; null: its own default. */
  maxCachedWorkflows?: number | null;
  prefix: string;
  temporal: TemporalSettings;
  handlers: Handler[];
  /** Functions that are called as tasks move. */
  hooks?: Hooks | undefined;
  callbacks: CallbackPolicy;
  executions: ExecutionSettings;
  nodes: NodeSettings;
  /** When fan-outs expire and are deleted, if the config file sets it. */
  fanouts?: ReapIntervals;
  /** How long outcomes per minute are kept, if the config file sets it. */
  keepOutcomesMs?: number | undefined;
  /** Completion by HTTP; switched on by a port or a URL. */
  callback: CallbackSettings;
  /** Where the HTTP API listens, and its limits. */
  api: ApiSettings;
  logLevel: LogLevel;
  /** The config file that was read. */
  config: string | null;
  /** The config file was named by a flag or variable, not found. */
  configNamed: boolean;
  /** The config file names a database or a Temporal. */
  ownServers: boolean;
  /** The servers of a `muster dev` that runs in this folder. */
  dev: DevServers | null;
}

export interface Needs {
  handlers?: boolean;
  database?: boolean;
  /** The process hands out callback URLs, so everything that those need must be set. */
  callback?: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Returns all settings, checked; throws one `SettingsError` with every problem. */
export const loadSettings = async (
  flags: Flags,
  needs: Needs,
  { cwd, env }: { cwd: string; env: Env },
): Promise<Settings> => {
  const problems: Problem[] = [];
  const dev = readDevFile(cwd);
  const named = flags.config ?? env['MUSTER_CONFIG'] ?? '';
  const given = named !== '' ? path.resolve(cwd, named) : (dev?.config ?? null);
  const file = given ?? findConfig(cwd, problems);
  const config: ConfigFile | null = file === null ? null : await loadConfig(file, env);
  problems.push(...(config?.problems ?? []));
  const read = reader(flags, env, problems);
  const own = {
    databaseUrl: read('databaseUrl', 'MUSTER_DATABASE_URL', schemas.databaseUrl) ?? config?.settings.databaseUrl,
    schema: read('schema', 'MUSTER_SCHEMA', schemas.schemaName) ?? config?.settings.schema,
    prefix: read('prefix', 'MUSTER_PREFIX', schemas.prefix) ?? config?.settings.prefix,
  };
  const maxConnections = read('maxConnections', 'MUSTER_MAX_CONNECTIONS', schemas.connectionsText);
  const maxCached = read('maxCachedWorkflows', 'MUSTER_MAX_CACHED_WORKFLOWS', schemas.cachedText);
  const callback = callbackSettings(read, config?.settings.callback);
  const api = apiSettings(read, config?.settings.api);
  if (needs.callback === true) problems.push(...callbackProblems(callback));
  const logLevel = read('logLevel', 'MUSTER_LOG_LEVEL', schemas.logLevel) as LogLevel | undefined;
  const nodes = nodeSettings(config?.settings.nodes ?? {}, read('nodeName', 'MUSTER_NODE_NAME', schemas.nodeName));
  problems.push(...nodeProblems(nodes));
  const temporal = temporalOf(flags, env, config, problems);
  // All of the dev servers or none: never one installation's database with another's Temporal.
  const isOwn = own.databaseUrl !== undefined || temporal.isNamed;
  const servers = isOwn ? null : dev;
  const databaseUrl = own.databaseUrl ?? servers?.databaseUrl ?? null;
  if (
    databaseUrl === null &&
    needs.database === true &&
    problems.every(({ path: at }) => !at.startsWith(DATABASE_FIELD))
  )
    problems.push({ path: 'databaseUrl', message: noDatabase(dev !== null, cwd) });
  if (needs.handlers === true && config === null) problems.push({ path: 'config', message: noConfig(cwd) });
  if (problems.length > 0) throw new SettingsError(problems);
  return {
    databaseUrl,
    schema: own.schema ?? servers?.schema ?? 'muster',
    maxConnections: maxConnections === undefined ? (config?.settings.maxConnections ?? null) : Number(maxConnections),
    maxCachedWorkflows: maxCached === undefined ? (config?.settings.maxCachedWorkflows ?? null) : Number(maxCached),
    prefix: own.prefix ?? servers?.prefix ?? DEFAULT_PREFIX,
    temporal: servers === null ? temporal.settings : ofDev(temporal.settings, servers),
    ...sealing(config?.settings ?? {}),
    handlers: config?.handlers ?? [],
    hooks: config?.settings.hooks,
    callbacks: callbackPolicy(config?.settings.callbacks),
    executions: executionSettings(
      config?.settings.executions ?? {},
      config?.functions ?? [],
      path.dirname(file ?? cwd),
    ),
    nodes,
    fanouts: { ...DEFAULT_REAP, ...config?.settings.fanouts },
    keepOutcomesMs: config?.settings.outcomes?.keepMs,
    callback,
    api,
    logLevel: logLevel ?? 'info',
    config: config?.path ?? null,
    configNamed: given !== null,
    ownServers: config?.settings.databaseUrl !== undefined || config?.settings.temporal?.address !== undefined,
    dev: servers,
  };
};

const ofDev = (
  settings: TemporalSettings,
  { temporal: { address, namespace }, api }: DevServers,
): TemporalSettings => ({
  ...settings, // with what is plugged in
  address,
  namespace,
  connection: {},
  dashboardUrl: settings.dashboardUrl ?? api,
});

const FLAG_NAMES: Readonly<Record<string, string>> = {
  databaseUrl: '--database-url',
  schema: '--schema',
  prefix: '--prefix',
  temporalAddress: '--temporal-address',
  namespace: '--namespace',
  logLevel: '--log-level',
  nodeName: '--node-name',
  callbackPort: '--callback-port',
  callbackHost: '--callback-host',
  callbackUrl: '--callback-url',
  apiPort: '--port',
  apiHost: '--host',
  apiOpen: '--open',
  maxConnections: '--max-connections',
  maxCachedWorkflows: '--max-cached-workflows',
};
const DATABASE_FIELD = 'MUSTER_DATABASE_URL';
/** Variables that are secrets: each may be named with `_FILE` at its end, and holds a path then. */
const SECRETS: readonly string[] = [DATABASE_FIELD, 'MUSTER_CALLBACK_SECRET'];

/**
 * Reads one setting from its flag, or else from its environment variable; an error names the one
 * used.
 */
const reader =
  (flags: Flags, env: Env, problems: Problem[]) =>
  (flag: keyof Flags | null, variable: string, schema: z.ZodType<string>): string | undefined => {
    const fromFlag = flag === null ? undefined : flags[flag];
    const { value: found, problem } = SECRETS.includes(variable)
      ? readVariable(env, variable)
      : { value: env[variable] };
    if (fromFlag === undefined && problem !== undefined) problems.push({ path: variable, message: problem });
    const value = fromFlag ?? (found === '' ? undefined : found);
    if (value === undefined) return undefined;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    problems.push({
      path: fromFlag === undefined ? variableOf(env, variable) : FLAG_NAMES[flag!]!,
      message: parsed.error.issues[0]!.message,
    });
    return undefined;
  };

/** `isNamed`: the user named a server, so that a dev server of this folder is not meant. */
const temporalOf = (
  flags: Flags,
  env: Env,
  config: ConfigFile | null,
  problems: Problem[],
): { settings: TemporalSettings; isNamed: boolean } => {
  const read = reader(flags, env, problems);
  const fromFlag = read('temporalAddress', 'TEMPORAL_ADDRESS', schemas.address);
  const namespace = read('namespace', 'TEMPORAL_NAMESPACE', schemas.namespace);
  const fromEnv = temporalEnv(env, problems);
  const fromFile = config?.settings.temporal ?? {};
  const { connection } = fromEnv;
  return {
    settings: {
      address: fromFlag ?? fromEnv.address ?? fromFile.address ?? USUAL_ADDRESS,
      namespace: namespace ?? fromEnv.namespace ?? fromFile.namespace ?? 'default',
      connection: {
        ...connection,
        apiKey: connection.apiKey ?? fromFile.apiKey,
        tls: tlsOf(connection, fromFile),
      },
      dataConverter: fromFile.dataConverter,
      interceptors: fromFile.interceptors,
      dashboardUrl: fromFile.dashboardUrl,
    },
    // A profile in the home directory names the user's usual server; it does not override a dev
    // server started here.
    isNamed: fromFlag !== undefined || fromFile.address !== undefined,
  };
};

const noDatabase = (dev: boolean, cwd: string): string =>
  `expected a Postgres URL from --database-url, MUSTER_DATABASE_URL or databaseUrl in the config file, got nothing. ${
    dev
      ? `The "muster dev" of ${cwd} is not used, because TEMPORAL_ADDRESS or another setting names another Temporal server.`
      : 'Or run "muster dev" in this folder: it starts everything.'
  }`;
const noConfig = (cwd: string): string =>
  `expected a config file from --config, MUSTER_CONFIG or in this folder, got none of ${CONFIG_NAMES.join(', ')} in ${cwd}. ${SAMPLE_HINT}`;
const SAMPLE_HINT =
  'A first one, muster.config.ts:\n' +
  "    import { defineHandler } from 'temporal-muster';\n" +
  '    export default [\n' +
  '      defineHandler({\n' +
  "        name: 'orders',\n" +
  '        target: (order: { country: string }) => order.country,\n' +
  '        limits: { maxItems: 100 },\n' +
  "        submit: async (batch) => ({ results: batch.tasks.map((task) => ({ id: task.id, status: 'ok' as const })) }),\n" +
  '      }),\n' +
  '    ];';
