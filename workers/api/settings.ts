import type { z } from 'zod';
import { LOCAL_HOST } from '../config/defaults';
import type { FileSettings } from '../config/settingsSchema';
import * as schemas from '../config/callbacksSchema';
import type { ApiLimits } from './limits';
import { DEFAULT_LIMITS } from './limits';

/** Where the HTTP API listens, and how much it takes at once. */
export interface ApiSettings {
  /** 0: any free one; null: not set. */
  port: number | null;
  host: string;
  limits: ApiLimits;
}

type Read = (flag: 'apiPort' | 'apiHost', variable: string, schema: z.ZodType<string>) => string | undefined;

export const apiSettings = (read: Read, file: FileSettings['api'] = {}): ApiSettings => {
  const port = read('apiPort', 'MUSTER_API_PORT', schemas.portText);
  const { maxBodyBytes, maxRequests, maxWaiting, maxWaitS } = file;
  const given = Object.entries({ maxBodyBytes, maxRequests, maxWaiting, maxWaitS }).filter(
    ([, value]) => value !== undefined,
  );
  return {
    port: port === undefined ? (file.port ?? null) : Number(port),
    host: read('apiHost', 'MUSTER_API_HOST', schemas.hostName) ?? file.host ?? LOCAL_HOST,
    limits: { ...DEFAULT_LIMITS, ...(Object.fromEntries(given) as Partial<ApiLimits>) },
  };
};

/** The defaults. */
export const DEFAULT_API: ApiSettings = { port: null, host: LOCAL_HOST, limits: DEFAULT_LIMITS };
