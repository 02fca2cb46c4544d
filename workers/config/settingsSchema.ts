import type { z } from 'zod';
import type { Problem } from '../../handlers';
import { USUAL_ADDRESS } from '../../client/usualAddress';
import { didYouMean } from '../../handlers/suggest';
import { KEEP_OUTCOMES_MS } from '../../postgres/sweeper/retention';
import { SCHEMA_PATTERN } from '../../postgres/pool';
import { DEFAULT_PREFIX } from '../../workflows/naming';
import { WEB } from '../../workflows/planning/callbacks/address';
import { isTraceUrl, TRACE_ID } from '../../workflows/planning/traceUrl';
import { DEFAULT_LIMITS, MAX_WAIT_S } from '../api/limits';
import { DEFAULT_REAP } from '../sweeper/fanoutReaper';
import { codecShape } from './codec';
import { executionShape } from './executions';
import { callbackShape, callbacksShape, hostName, hosts, isPort, PORT } from './callbacksSchema';
import { checked, setting, strict, text, whole } from './checked';
import { LOCAL_HOST, USUAL_API_PORT } from './defaults';
import { maxLimits } from './limitCeilings';
import { isNodeName, NODE_NAME, nodeShape } from './nodes';
import { plugsShape } from './plugs';
import { hooks } from './hooks';
import type { SecretOptions } from './secret';
import { masked, secret } from './secret';
import { tls } from './tls';

/** Checks each setting, wherever it comes from. Messages say what came, except for a secret. */

const isDatabaseUrl = (url: string): boolean => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
const isAddress = (address: string): boolean => /^(\[[0-9a-fA-F:]+\]|[^\s/:@]+)(:\d{1,5})?$/.test(address);

export const databaseUrl = text('a URL like postgres://user:password@host:5432/database', isDatabaseUrl, masked);
export const schemaName = text('a name like "muster" (a-z, 0-9, _, at most 63)', (name) => SCHEMA_PATTERN.test(name));
export const prefix = text('1-64 characters of a-z, A-Z, 0-9, _, - and .', (name) => /^[\w.-]{1,64}$/.test(name));
export const nodeName = text(NODE_NAME, isNodeName);
export const address = text('host:port, such as localhost:7233, without a scheme', isAddress);
export const namespace = text('1-255 characters', (name) => name !== '' && name.length <= 255);
export const logLevel = checked<LogLevel>(
  `one of ${['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].join(', ')}`,
  (value) => ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].includes(value as string),
);
export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** The variable of `temporal.apiKey`. */
export const API_KEY = 'TEMPORAL_API_KEY';
export const apiKey = text('one line of printable ASCII', (key) => /^[!-~]+$/.test(key), masked);
const CONNECTIONS = { least: 2, most: 1_000 };
export const connectionsText = text(
  `a whole number of database connections from ${CONNECTIONS.least} to ${CONNECTIONS.most}`,
  (value) => /^\d{1,4}$/.test(value) && Number(value) >= CONNECTIONS.least && Number(value) <= CONNECTIONS.most,
);
const CACHED = { least: 10, most: 20_000 };
export const cachedText = text(
  `a whole number of workflow runs from ${CACHED.least} to ${CACHED.most}`,
  (value) => /^\d{1,5}$/.test(value) && Number(value) >= CACHED.least && Number(value) <= CACHED.most,
);
const isTruth = (value: unknown): boolean => typeof value === 'boolean';
const LONGEST_WAIT_MS = 3_650 * 86_400_000;
const wait = (leastMs: number) => whole(leastMs, LONGEST_WAIT_MS, 'milliseconds');

const traceAddress = text(
  `an http or https URL without user and password, with ${TRACE_ID} behind its host, such as https://jaeger.example.com/trace/${TRACE_ID}`,
  isTraceUrl,
);
const webAddress = text('an http or https URL', (url) => WEB.test(url) && URL.canParse(url));

interface SchemaOptions extends SecretOptions {
  folder: string;
}

const temporalShape = (options: SchemaOptions) => ({
  address: setting(address, 'The Temporal server.', USUAL_ADDRESS),
  namespace: setting(namespace, 'The Temporal namespace.', 'default'),
  apiKey: setting(secret(options, apiKey), 'API key of Temporal Cloud, in JSON as `{"env": "NAME"}`.', 'none'),
  tls: setting(
    tls(options),
    'Whether and how to use TLS. Certificates in PEM; in JSON the key as `{"env": "NAME"}`.',
    false,
  ),
  dashboardUrl: setting(
    webAddress,
    "Address of the dashboard, to which Muster's workflows link in Temporal's Web UI.",
    'none; `muster dev` knows its own',
  ),
  ...plugsShape(options.folder),
});

const fanoutShape = {
  openIdleMs: setting(
    wait(3_600_000),
    'An open fan-out expires after this long without activity.',
    DEFAULT_REAP.openIdleMs,
  ),
  sealedIdleMs: setting(
    wait(3_600_000),
    'A sealed fan-out expires after this long without activity.',
    DEFAULT_REAP.sealedIdleMs,
  ),
  keepEndedMs: setting(wait(60_000), 'How long an ended fan-out is kept.', DEFAULT_REAP.keepEndedMs),
};

const outcomeShape = {
  keepMs: setting(wait(3_600_000), 'How long outcomes per minute are kept.', KEEP_OUTCOMES_MS),
};

const callerShape = {
  maxRequests: setting(
    whole(1, 100_000, 'requests'),
    'Most requests of one token at work at once; further ones get 429.',
    'half of `api.maxRequests`',
  ),
  maxWaiting: setting(
    whole(0, 100_000, 'streams and long polls'),
    'Most streams and long polls of one token at once; further ones get 429.',
    'half of `api.maxWaiting`',
  ),
  refusedShare: setting(
    checked<number>(
      'a number above 0, up to 1',
      (value) => typeof value === 'number' && Number.isFinite(value) && value > 0 && value <= 1,
    ),
    "Part of the process's time for refusing requests of one token, while it is busy and others call; more wait.",
    DEFAULT_LIMITS.perCaller.refusedShare,
  ),
};

const apiShape = {
  port: setting(checked<number>(PORT, isPort), 'Port of the HTTP API.', USUAL_API_PORT),
  host: setting(hostName, 'Address on which the HTTP API listens.', LOCAL_HOST),
  open: setting(
    checked<boolean>('true or false', isTruth),
    'Requires no token until one was made. Only on a loopback address.',
    false,
  ),
  maxConnections: setting(
    whole(1, 100_000, 'connections'),
    'Most connections of callers at once; further ones are closed.',
    '2,000, or twice `maxRequests` and `maxWaiting` together if that is more',
  ),
  maxBodyBytes: setting(
    whole(1_024, 268_435_456, 'bytes'),
    'Most bytes of one request body.',
    DEFAULT_LIMITS.maxBodyBytes,
  ),
  maxRequests: setting(
    whole(1, 100_000, 'requests'),
    'Most requests at work at once; further ones get 503.',
    DEFAULT_LIMITS.maxRequests,
  ),
  maxWaiting: setting(
    whole(0, 100_000, 'streams and long polls'),
    'Most streams and long polls at once; further ones get 429.',
    DEFAULT_LIMITS.maxWaiting,
  ),
  maxWaitS: setting(
    whole(0, MAX_WAIT_S, 'seconds'),
    'Longest time that an answer is held back for `wait`.',
    DEFAULT_LIMITS.maxWaitS,
  ),
  perCaller: strict(callerShape).optional(),
  maxLimits: setting(
    maxLimits,
    'The most that callers may set of the limits of a handler, by its name, or `*` for all others.',
    'none',
  ),
  temporalUi: setting(
    webAddress,
    "Address of Temporal's Web UI, for links of the dashboard.",
    'none; `muster dev` knows its own',
  ),
  traceUrl: setting(
    traceAddress,
    `Address of a trace, with ${TRACE_ID} in place of its id, for links of the dashboard.`,
    'none',
  ),
};

/**
 * Returns the schema of the settings beside the handlers in the config file; paths in it are from
 * its folder.
 */
export const fileSchema = (options: SchemaOptions) =>
  strict({
    databaseUrl: setting(
      // A database URL may have no password, so it may be plain; with {env} it need not be.
      secret({ ...options, json: false }, databaseUrl),
      'The Postgres database, as text or as `{"env": "NAME"}`.',
    ),
    schema: setting(schemaName, 'Schema of Muster’s tables.', 'muster'),
    maxConnections: setting(
      whole(CONNECTIONS.least, CONNECTIONS.most, 'database connections'),
      'Most database connections of one process.',
      '20 of `muster worker`, 10 of `muster api`',
    ),
    maxCachedWorkflows: setting(
      whole(CACHED.least, CACHED.most, 'workflow runs'),
      'Most workflow runs that one worker keeps in memory; a run beyond is replayed when it goes on.',
      '500',
    ),
    prefix: setting(prefix, 'First part of all workflow ids and task queues.', DEFAULT_PREFIX),
    temporal: strict(temporalShape(options)).optional(),
    fanouts: strict(fanoutShape).optional(),
    outcomes: strict(outcomeShape).optional(),
    ...codecShape(options.folder),
    api: strict(apiShape).optional(),
    callback: strict(callbackShape(options)).optional(),
    callbacks: strict(callbacksShape(options)).optional(),
    executions: strict({
      ...executionShape,
      httpAllow: setting(hosts, 'Hosts that `http` functions may call.', 'none'),
    }).optional(),
    nodes: strict(nodeShape).optional(),
    hooks: setting(hooks, 'Functions that are called as tasks move; in a config file that is code.', 'none'),
  });
export type FileSettings = z.infer<ReturnType<typeof fileSchema>>;
/** The settings that `fileSchema` knows, beside the handlers. */
export const SETTING_NAMES: readonly string[] = [
  'databaseUrl',
  'schema',
  'maxConnections',
  'maxCachedWorkflows',
  'prefix',
  'temporal',
  'executions',
  'nodes',
  'api',
  'callback',
  'callbacks',
  'fanouts',
  'outcomes',
  'hooks',
  'payloadCodec',
  'objectStore',
];

/** Returns every problem of a value, one per field. */
export const problemsOf = (schema: z.ZodType, value: unknown): Problem[] => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue): Problem[] => {
    const at = issue.path.map(String);
    if (issue.code !== 'unrecognized_keys') return [{ path: at.join('.'), message: issue.message }];
    const known = issue.message.split(' ');
    return issue.keys.map((key) => ({
      path: [...at, key].join('.'),
      message: `unknown setting${didYouMean(key, known) || `; known here: ${known.join(', ')}`}`,
    }));
  });
};
