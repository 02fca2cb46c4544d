import type { z } from 'zod';
import type { Problem } from '../../handlers';
import { DEFAULT_CALLBACK_BYTES, LOCAL_HOST } from './defaults';
import type { FileSettings } from './settingsSchema';
import * as schemas from './settingsSchema';

/** How downstreams call back. Not `callbacks`: those are Muster's, to recipients. */
export interface CallbackSettings {
  /** Port on which this process listens; 0: any free one. Null: it does not listen. */
  port: number | null;
  /** If that port is taken, use any free one. */
  elsewhere?: boolean;
  host: string;
  /** Address under which downstreams reach a worker that listens; null: where this one listens. */
  url: string | null;
  secret: string | null;
  maxBytes: number;
}

const WILDCARD = ['0.0.0.0', '::', '[::]'];

type Read = (
  flag: 'callbackPort' | 'callbackHost' | 'callbackUrl' | null,
  variable: string,
  schema: z.ZodType<string>,
) => string | undefined;

export const callbackSettings = (read: Read, file: FileSettings['callback'] = {}): CallbackSettings => {
  const port = read('callbackPort', 'MUSTER_CALLBACK_PORT', schemas.portText);
  return {
    port: port === undefined ? (file.port ?? null) : Number(port),
    host: read('callbackHost', 'MUSTER_CALLBACK_HOST', schemas.hostName) ?? file.host ?? LOCAL_HOST,
    url: read('callbackUrl', 'MUSTER_CALLBACK_URL', schemas.callbackUrl) ?? file.url ?? null,
    // No flag: other users of this machine can see flags.
    secret: read(null, 'MUSTER_CALLBACK_SECRET', schemas.callbackSecret) ?? file.secret ?? null,
    maxBytes: file.maxBytes ?? DEFAULT_CALLBACK_BYTES,
  };
};

/** Returns what is missing before a process may hand out URLs or listen. */
export const callbackProblems = ({ port, host, url, secret }: CallbackSettings): Problem[] => {
  const problems: Problem[] = [];
  if ((port !== null || url !== null) && secret === null)
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
