import { randomBytes } from 'node:crypto';
import pino from 'pino';
import type { Handler } from '../../handlers';
import { defineHandler } from '../../handlers';
import type { CallbackPolicy } from '../../activities/deps';
import type { ExecutionSettings } from '../../activities/executions/settings';
import { DEFAULT_EXECUTION_SETTINGS } from '../../activities/executions/settings';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import type { Client } from '../../client';
import { createClient } from '../../client';
import type { Scope } from '../../postgres/api/token';
import { insertToken } from '../../postgres/api/token';
import type { RunningApi } from '../../workers/api/api';
import { startApi } from '../../workers/api/api';
import type { GivenLimits } from '../../workers/api/limits';
import { limitsOf } from '../../workers/api/limits';
import { DEFAULT_API } from '../../workers/api/settings';
import { hashToken, newToken } from '../../workers/api/tokens';
import type { CeilingsByHandler } from '../../workflows/planning/limits/ceilings';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, temporalAddress } from '../helpers/database';
import type { Settings } from '../../workers/config/config';
import { callbackSettings } from '../../workers/config/callbacks';

interface Answered {
  status: number;
  type: string;
  headers: Headers;
  text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
}
interface CallOptions {
  body?: unknown;
  /** Sent as it is, in place of `body`. */
  raw?: string | Buffer;
  token?: string;
  key?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}
export type CallApi = (route: string, options?: CallOptions) => Promise<Answered>;

/** `GET /v1/x`, at an address. */
export const caller =
  (url: () => string): CallApi =>
  async (route, { body, raw, token, key, headers = {}, signal } = {}) => {
    const [method, path] = route.split(' ');
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const answer = await fetch(`${url()}${path}`, {
      method,
      headers: {
        ...(sent === undefined && method === 'GET' ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent as string }),
      ...(signal === undefined ? {} : { signal }),
    });
    const text = await answer.text();
    const type = answer.headers.get('content-type') ?? '';
    return {
      status: answer.status,
      type,
      headers: answer.headers,
      text,
      body: type.includes('json') ? JSON.parse(text) : text,
    };
  };

export interface ApiWorld {
  database: TestDatabase;
  client: Client;
  api: RunningApi;
  prefix: string;
  call: CallApi;
  /** Lines of the log of the API. */
  logged: string[];
  token(...scopes: Scope[]): Promise<string>;
  stop(): Promise<void>;
}
export interface Place {
  to: string;
  note?: string;
}

/**
 * `items` goes to targets, `narrow` takes 3 tasks, `lane` keeps order. Nobody sends anything: there
 * is no worker.
 */
export const worldHandlers = (): Handler[] => {
  const base = {
    target: (item: Place) => item.to,
    limits: { maxItems: 100 },
    linger: { lingerMs: 60_000 },
    leaders: 1 as const,
    submit: async (batch: { tasks: readonly { id: string }[] }) => ({
      results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })),
    }),
  };
  return [
    defineHandler<Place>({ ...base, name: 'items' }),
    defineHandler<Place>({ ...base, name: 'narrow', maxQueued: { perHandler: 3 } }),
    defineHandler<Place>({ ...base, name: 'lane', service: (target) => target, lane: { approach: 'serial' } }),
  ];
};

export interface WorldOptions {
  handlers?: readonly Handler[];
  limits?: GivenLimits;
  host?: string;
  /** Without a token until one was made; default: true. */
  open?: boolean;
  /** Of a Muster that runs already. */
  muster?: { database: TestDatabase; prefix: string };
  maxConnections?: number;
  callbacks?: CallbackPolicy;
  executions?: Partial<ExecutionSettings>;
  /** The most that callers may set of limits. */
  maxLimits?: CeilingsByHandler;
  traceUrl?: string;
}

export const settingsFor = (
  database: TestDatabase,
  prefix: string,
  {
    handlers: given = worldHandlers(),
    limits = {},
    host = '127.0.0.1',
    open = true,
    callbacks,
    executions,
    maxLimits = {},
    traceUrl,
  }: WorldOptions,
): Settings => ({
  databaseUrl: database.url,
  schema: 'muster',
  maxConnections: null,
  prefix,
  temporal: { address: temporalAddress(), namespace: 'default', connection: {} },
  handlers: [...given],
  callbacks: callbacks ?? { allow: [], secret: null },
  callback: callbackSettings(() => undefined),
  executions: { ...DEFAULT_EXECUTION_SETTINGS, ...executions },
  nodes: DEFAULT_NODE_SETTINGS,
  api: { ...DEFAULT_API, port: 0, host, open, limits: limitsOf(limits), maxLimits, traceUrl: traceUrl ?? null },
  logLevel: 'silent',
  config: null,
  configNamed: false,
  ownServers: false,
  dev: null,
});

/** The HTTP API in this process, on the run's real servers. */
export const openWorld = async (options: WorldOptions = {}): Promise<ApiWorld> => {
  const database = options.muster?.database ?? (await createDatabase({ max: 10 }));
  const prefix = options.muster?.prefix ?? `t-${randomBytes(5).toString('hex')}`;
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const settings = settingsFor(database, prefix, options);
  const api = await startApi(settings, { log, maxConnections: options.maxConnections ?? 10 });
  const client = createClient({
    databaseUrl: database.url,
    handlers: settings.handlers,
    prefix,
    temporal: { address: temporalAddress() },
  });
  return {
    database,
    client,
    api,
    prefix,
    logged,
    call: caller(() => api.url),
    token: async (...scopes) => {
      const token = newToken();
      await insertToken(database.pool, { name: scopes.join(' '), hash: hashToken(token), scopes });
      return token;
    },
    stop: async () => {
      await api.stop(5_000);
      await client.close();
      if (options.muster === undefined) await database.drop();
    },
  };
};

export const items = (to: string, ...ids: string[]): { id: string; payload: Place }[] =>
  ids.map((id) => ({ id, payload: { to } }));
