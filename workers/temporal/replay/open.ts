import { Client } from '@temporalio/client';
import type { TemporalSettings } from '../../config/config';
import { createLogger } from '../../logging';
import { connectTemporal } from '../connect';

/** Opens a client of Temporal with one try, for a command; `close` ends its connection. */
export const openTemporal = async (
  settings: TemporalSettings,
): Promise<{ temporal: Client; close: () => Promise<void> }> => {
  const connection = await connectTemporal(settings, {
    log: createLogger('silent'),
    startTimeoutMs: 0,
    signal: new AbortController().signal,
  });
  return { temporal: new Client({ connection, namespace: settings.namespace }), close: () => connection.close() };
};
