import type { CallbackPolicy } from '../../activities/deps';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import type { NodeSettings } from '../../activities/nodes/settings';
import { DEFAULT_EXECUTION_SETTINGS } from '../../activities/executions/settings';
import type { ExecutionSettings } from '../../activities/executions/settings';
import type { Handler } from '../../handlers';
import { DEFAULT_API } from '../../workers/api/settings';
import { callbackSettings } from '../../workers/config/callbacks';
import { createLogger } from '../../workers/logging';
import { startWorker } from '../../workers/process';
import { DEFAULT_PREFIX } from '../../workflows/naming';
import { onEnd } from './server';

/**
 * A worker process of an example: what `muster worker` runs, with every setting from the caller and
 * none from the machine. The database's address comes from the environment, since it holds a
 * password. `graceMs`: on a stop, running calls may take this long. Without a handler it runs
 * executions only.
 */
export const runWorker = async (
  handler: Handler | null,
  options: {
    temporal: string;
    graceMs: number;
    callbacks?: CallbackPolicy;
    executions?: Partial<ExecutionSettings>;
    nodes?: Partial<NodeSettings>;
  },
): Promise<void> => {
  const log = createLogger('error');
  const worker = await startWorker(
    {
      databaseUrl: process.env['MUSTER_DATABASE_URL'] ?? null,
      schema: 'muster',
      maxConnections: null,
      prefix: DEFAULT_PREFIX,
      temporal: { address: options.temporal, namespace: 'default', connection: {} },
      handlers: handler === null ? [] : [handler],
      callbacks: options.callbacks ?? { allow: [], secret: null },
      callback: callbackSettings(() => undefined),
      api: DEFAULT_API,
      executions: { ...DEFAULT_EXECUTION_SETTINGS, ...options.executions },
      nodes: { ...DEFAULT_NODE_SETTINGS, ...options.nodes },
      logLevel: 'error',
      config: null,
      configNamed: false,
      ownServers: false,
      dev: null,
    },
    { log, shutdownGraceMs: options.graceMs, signal: new AbortController().signal },
  );
  worker.ended.catch((error: unknown) => {
    log.fatal({ err: error }, 'the worker failed');
    process.exit(1);
  });
  onEnd(async () => {
    worker.stop();
    await worker.ended;
  });
  process.stdout.write(`${JSON.stringify({ ready: true, port: 0 })}\n`);
};
