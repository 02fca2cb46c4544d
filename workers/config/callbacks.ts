import type { z } from 'zod';
import type { CallbackPolicy } from '../../activities/deps';
import type { Problem } from '../../handlers';
import { DEFAULT_WORKFLOWS } from '../../workflows/planning/callbacks/workflows';
import * as schemas from './callbacksSchema';
import { DEFAULT_CALLBACK_BYTES, DEFAULT_CALLBACK_URL_MS, LOCAL_HOST } from './defaults';
import { linesOf, split } from './secret';
import type { FileSettings } from './settingsSchema';

/** How downstreams call back. Not `callbacks`: those are Muster's, to recipients. */
export interface CallbackSettings {
  /** Port on which this process listens; 0: any free one. Null: it does not listen. */
  port: number | null;
  /** If that port is taken, use any free one. */
  elsewhere?: boolean;
  host: string;
  /** Address under which downstreams reach a worker that listens; null: where this one listens. */
  url: string | null;
  /** The first signs; URLs of the others are accepted. Empty: there is none. */
  secrets: readonly string[];
  /** How long a URL is valid, at least. */
  urlMs: number;
  maxBytes: number;
}

const WILDCARD = ['0.0.0.0', '::', '[::]'];

type Read = (
  flag: 'callbackPort' | 'callbackHost' | 'callbackUrl' | null,
  variable: string,
  schema: z.ZodType<string>,
) => string | undefined;

export const callbackSettings = (read: Read, file: FileSettings['callback'] = {}): CallbackSettings => {
  // No flag: other users of this machine can see flags.
  const secret = read(null, 'MUSTER_CALLBACK_SECRET', linesOf(schemas.callbackSecret));
  const port = read('callbackPort', 'MUSTER_CALLBACK_PORT', schemas.portText);
  return {
    port: port === undefined ? (file.port ?? null) : Number(port),
    host: read('callbackHost', 'MUSTER_CALLBACK_HOST', schemas.hostName) ?? file.host ?? LOCAL_HOST,
    url: read('callbackUrl', 'MUSTER_CALLBACK_URL', schemas.callbackUrl) ?? file.url ?? null,
    secrets: secret === undefined ? (file.secret ?? []) : split(secret),
    urlMs: file.urlMs ?? DEFAULT_CALLBACK_URL_MS,
    maxBytes: file.maxBytes ?? DEFAULT_CALLBACK_BYTES,
  };
};

/** Returns what is missing before a process may hand out URLs or listen. */
export const callbackProblems = ({ port, host, url, secrets }: CallbackSettings): Problem[] => {
  const problems: Problem[] = [];
  if ((port !== null || url !== null) && secrets.length === 0)
    problems.push({
      path: 'MUSTER_CALLBACK_SECRET',
      message:
        'expected a secret of at least 32 characters, the same in every worker, since callbacks are enabled; got nothing. Create one with `openssl rand -base64 32`.',
    });
  if (port !== null && url === null && WILDCARD.includes(host))
    problems.push({
      path: 'MUSTER_CALLBACK_URL',
      message: `expected the address under which downstreams reach this worker, since it listens on ${host}; got nothing`,
    });
  return problems;
};

/** Returns how messages to recipients are sent. */
export const callbackPolicy = (file: FileSettings['callbacks'] = {}): CallbackPolicy => {
  const { allow = [], secret = null, receivers = [], workflows = {} } = file;
  return {
    allow,
    secret,
    receivers,
    workflows: {
      allow: workflows.allow ?? DEFAULT_WORKFLOWS.allow,
      signals: workflows.signals ?? DEFAULT_WORKFLOWS.signals,
      http: workflows.http ?? DEFAULT_WORKFLOWS.http,
    },
  };
};
