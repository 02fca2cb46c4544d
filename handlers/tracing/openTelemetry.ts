import type * as Api from '@opentelemetry/api';

/**
 * The API of OpenTelemetry, if it is installed: an optional peer. It does nothing until the
 * application registers an SDK, and copies of it share what was registered.
 */
export type OpenTelemetry = typeof Api;

/** Module state, since the API is the same for all; undefined until it was looked for. */
let loaded: OpenTelemetry | null | undefined;

/** Returns the API; null: it is not installed. Loads it at the first call. */
export const openTelemetry = (): OpenTelemetry | null => {
  if (loaded === undefined)
    try {
      // eslint-disable-next-line @typescript-eslint/no-require-imports
      loaded = require('@opentelemetry/api') as OpenTelemetry;
    } catch {
      loaded = null;
    }
  return loaded;
};

/** The name under which spans are recorded. */
export const TRACER = 'temporal-muster';
