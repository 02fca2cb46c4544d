import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { Requests } from '../../workflows/temporal/requests';
import { createLogger } from '../logging';
import type { TemporalSettings } from '../config/config';
import { connectTemporal } from '../temporal/connect';
import { createAttributeCommand, isAttributeRegistered } from '../temporal/searchAttributes';
import { COARSE_TIMERS, measureTimers } from '../temporal/timerProbe';
import type { Check } from './check';
import { failedBy, look, ok, warning } from './check';

const ASK_MS = 10_000;

/** Looks at Temporal: the server, the namespace, its timers, its search attribute. */
export const checkTemporal = async (settings: TemporalSettings, prefix: string): Promise<Check[]> => {
  const { address, namespace } = settings;
  let connection: NativeConnection;
  try {
    connection = await connectTemporal(settings, {
      log: createLogger('silent'),
      startTimeoutMs: 0,
      signal: new AbortController().signal,
    });
  } catch (error) {
    return [failedBy('temporal', error)];
  }
  try {
    return [
      await look('temporal', async () => {
        const { serverVersion } = await connection.withDeadline(Date.now() + ASK_MS, () =>
          connection.workflowService.getSystemInfo({}),
        );
        return ok('temporal', `version ${serverVersion}, namespace ${namespace} at ${address}`);
      }),
      await look('search attribute', () => attributeCheck(connection, namespace)),
      await look('timers', () => timersCheck(connection, namespace, prefix)),
    ];
  } finally {
    await connection.close();
  }
};

const attributeCheck = async (connection: NativeConnection, namespace: string): Promise<Check> =>
  (await isAttributeRegistered(connection, namespace))
    ? ok('search attribute', 'registered: the Web UI can filter by handler')
    : warning(
        'search attribute',
        'not registered: the Web UI cannot filter by handler',
        `A worker registers it where it may. Otherwise run: ${createAttributeCommand(namespace)}.`,
      );

const timersCheck = async (connection: NativeConnection, namespace: string, prefix: string): Promise<Check> => {
  const requests = new Requests(new Client({ connection, namespace }));
  const measured = await measureTimers({ requests, prefix });
  if (measured === null) return ok('timers', 'not measured: another process is measuring');
  const says = `a timer of ${measured.delayMs} ms took ${measured.tookMs} ms`;
  return measured.isCoarse ? warning('timers', says, COARSE_TIMERS) : ok('timers', says);
};
