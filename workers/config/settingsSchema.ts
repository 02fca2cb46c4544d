import { z } from 'zod';
import type { Problem } from '../../handlers';
import { didYouMean } from '../../handlers/suggest';
import { show } from '../../handlers/text';
import { SCHEMA_PATTERN } from '../../postgres/pool';
import { executionShape } from './executions';
import type { Shown } from './checked';
import { checked, strict, text } from './checked';
import { isNodeName, NODE_NAME, nodeShape } from './nodes';
import { plugsShape } from './plugs';

/**
 * What each setting must be, wherever it comes from. Messages say what came, except of a secret.
 */

type Env = Readonly<Record<string, string | undefined>>;

const masked: Shown = (value) =>
  typeof value === 'string' ? 'another text (not shown: it may hold a secret)' : show(value);
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

/**
 * `{env: NAME}`, or the text itself where a file is code: no secret stands in a JSON file (H10).
 */
const secret = ({ json, env }: { json: boolean; env: Env }, inner: z.ZodType<string>): z.ZodType<string> =>
  z.unknown().transform((value, context): string => {
    const name = (value as { env?: unknown } | null)?.env;
    const refuse = (message: string): never => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    if (typeof name !== 'string') {
      if (json) return refuse(`expected {"env": "NAME"}, since no secret stands in a JSON file, got ${masked(value)}`);
      const parsed = inner.safeParse(value);
      return parsed.success ? parsed.data : refuse(parsed.error.issues[0]!.message);
    }
    const found = env[name];
    if (found === undefined || found === '')
      return refuse(`expected a value in the environment variable ${name}, got nothing`);
    const parsed = inner.safeParse(found);
    return parsed.success
      ? parsed.data
      : refuse(`${parsed.error.issues[0]!.message} in the environment variable ${name}`);
  });

const someText = text('text', (value) => value !== '', masked);
const webhookSecret = text(
  'a Standard Webhooks secret, whsec_ and base64',
  (value) => /^whsec_[A-Za-z0-9+/]+=*$/.test(value),
  masked,
);
/** Short ones can be guessed from one URL. */
export const callbackSecret = text(
  'at least 32 characters, such as `openssl rand -base64 32` gives',
  (value) => value.length >= 32,
  masked,
);
export const callbackUrl = text(
  'an http:// or https:// URL without query, user or password',
  (value) => {
    if (!/^https?:\/\//.test(value) || !URL.canParse(value)) return false;
    const { username, password, search, hash } = new URL(value);
    return `${username}${password}${search}${hash}` === '';
  },
  masked,
);
const isConnections = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 2 && (value as number) <= 1_000;
const CONNECTIONS = 'a whole number of database connections from 2 to 1000';
export const connectionsText = text(CONNECTIONS, (value) => /^\d{1,4}$/.test(value) && isConnections(Number(value)));
const isPort = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= 65_535;
const PORT = 'a port from 0 (a free one) to 65535';
export const portText = text(PORT, (value) => /^\d{1,5}$/.test(value) && isPort(Number(value)));
export const hostName = text('a host name or address to listen on', (value) => /^[^\s/@]+$/.test(value));
const CALLBACK_BYTES_MAX = 268_435_456;
const hosts = z.array(
  text('a host name, such as hooks.example.com', (host) => /^[^\s/@]+$/.test(host)),
  {
    error: (issue) => `expected a list of host names, got ${show(issue.input)}`,
  },
);

const LONGEST_WAIT_MS = 3_650 * 86_400_000;
const wait = (leastMs: number) =>
  checked<number>(
    `a whole number of milliseconds from ${leastMs} to ${LONGEST_WAIT_MS}`,
    (ms) => Number.isSafeInteger(ms) && (ms as number) >= leastMs && (ms as number) <= LONGEST_WAIT_MS,
  );

const limit = (what: string, least: number, most: number) =>
  checked<number>(
    `whole ${what} from ${least} to ${most}`,
    (value) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
  );

/**
 * Settings that may stand beside the handlers in the config file; paths in it are from its folder.
 */
export const fileSchema = (options: { json: boolean; env: Env; folder: string }) =>
  strict({
    // A database URL may be without a password, so it may be plain; with {env} it need not be.
    databaseUrl: secret({ ...options, json: false }, databaseUrl).optional(),
    schema: schemaName.optional(),
    maxConnections: checked<number>(CONNECTIONS, isConnections).optional(),
    prefix: prefix.optional(),
    temporal: strict({
      address: address.optional(),
      namespace: namespace.optional(),
      apiKey: secret(options, someText).optional(),
      tls: checked<boolean | object>(
        'true, false or TLS options',
        (tls) => typeof tls === 'boolean' || (typeof tls === 'object' && tls !== null),
      ).optional(),
      ...plugsShape(options.folder),
    }).optional(),
    fanouts: strict({
      openIdleMs: wait(3_600_000).optional(),
      sealedIdleMs: wait(3_600_000).optional(),
      keepEndedMs: wait(60_000).optional(),
    }).optional(),
    api: strict({
      port: checked<number>(PORT, isPort).optional(),
      host: hostName.optional(),
      maxBodyBytes: limit('bytes', 1_024, 268_435_456).optional(),
      maxRequests: limit('requests', 1, 100_000).optional(),
      maxWaiting: limit('streams and long polls', 0, 100_000).optional(),
      maxWaitS: limit('seconds', 0, 60).optional(),
    }).optional(),
    callback: strict({
      port: checked<number>(PORT, isPort).optional(),
      host: hostName.optional(),
      url: callbackUrl.optional(),
      secret: secret(options, callbackSecret).optional(),
      maxBytes: checked<number>(
        `whole bytes from 1024 to ${CALLBACK_BYTES_MAX}`,
        (value) => Number.isSafeInteger(value) && (value as number) >= 1_024 && (value as number) <= CALLBACK_BYTES_MAX,
      ).optional(),
    }).optional(),
    callbacks: strict({ allow: hosts.optional(), secret: secret(options, webhookSecret).optional() }).optional(),
    executions: strict({ ...executionShape, httpAllow: hosts.optional() }).optional(),
    nodes: strict(nodeShape).optional(),
  });
export type FileSettings = z.infer<ReturnType<typeof fileSchema>>;
/** What `fileSchema` knows; the handlers stand beside them. */
export const SETTING_NAMES: readonly string[] = [
  'databaseUrl',
  'schema',
  'maxConnections',
  'prefix',
  'temporal',
  'callbacks',
  'executions',
  'nodes',
  'api',
  'callback',
  'callbacks',
  'fanouts',
];

/** Every problem of a value, one a field. */
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
