import type { z } from 'zod';
import { LOCAL_HOST } from '../config/defaults';
import type { FileSettings } from '../config/settingsSchema';
import * as schemas from '../config/callbacksSchema';
import { ceilingsByHandler } from '../config/limitCeilings';
import type { CeilingsByHandler } from '../../workflows/planning/limits/ceilings';
import type { ApiLimits } from './limits';
import { DEFAULT_LIMITS, limitsOf } from './limits';

/** Where the HTTP API listens, and how much it takes at once. */
export interface ApiSettings {
  /** 0: any free one; null: not set. */
  port: number | null;
  host: string;
  /** Without a token, until one was made; for this machine only. */
  open: boolean;
  limits: ApiLimits;
  /** The most that callers may set of the limits of handlers. */
  maxLimits: CeilingsByHandler;
  /** Where Temporal's Web UI is, without a slash at the end; null: not known. */
  temporalUi: string | null;
  /** Where a trace is shown, with a place for its id; null: not known. */
  traceUrl: string | null;
}

type Read = (
  flag: 'apiPort' | 'apiHost' | 'apiOpen',
  variable: string,
  schema: z.ZodType<string>,
) => string | undefined;

export const apiSettings = (read: Read, file: FileSettings['api'] = {}): ApiSettings => {
  const port = read('apiPort', 'MUSTER_API_PORT', schemas.portText);
  const open = read('apiOpen', 'MUSTER_API_OPEN', schemas.truthText);
  return {
    port: port === undefined ? (file.port ?? null) : Number(port),
    host: read('apiHost', 'MUSTER_API_HOST', schemas.hostName) ?? file.host ?? LOCAL_HOST,
    open: open === undefined ? (file.open ?? false) : open === 'true',
    limits: limitsOf(file),
    maxLimits: ceilingsByHandler(file.maxLimits),
    temporalUi: file.temporalUi?.replace(/\/+$/, '') ?? null,
    traceUrl: file.traceUrl ?? null,
  };
};

/** The defaults. */
export const DEFAULT_API: ApiSettings = {
  port: null,
  host: LOCAL_HOST,
  open: false,
  limits: DEFAULT_LIMITS,
  maxLimits: {},
  temporalUi: null,
  traceUrl: null,
};
