import type { Command } from 'commander';
import { command, durationOption, portOption } from '../support/command';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  metricsPort?: number;
  metricsHost: string;
  sdkMetricsPort?: number;
  shutdownGrace: number;
  startTimeout: number;
  versioning?: boolean;
  buildId?: string;
  setCurrent?: boolean;
}

const NOTES = `Logs are JSON lines on stderr. SIGTERM or Ctrl-C drains: no new work, running calls end within --shutdown-grace, exit code 0; a
second signal ends it at once. At the start it waits for Postgres, its tables, and Temporal to be there (--start-timeout).
With --callback-port, or a callback URL alone where another worker listens, calls carry a URL to which the downstream posts {"results": [...]} or
{"status": "expired" | "failed"} of a batch that it accepted. It needs MUSTER_CALLBACK_SECRET (at least 32 characters), the same in every worker.
With --json: one line on stdout when it is ready: {"ready": true, "node", "handlers", "callbacks"?}.`;

export const workerCommand = (): Command =>
  command(
    'worker',
    "Run a worker: leads targets and makes the calls of the config's handlers.",
    [
      'muster worker',
      'muster worker --config ./muster.config.ts --metrics-port 9464',
      'muster worker --callback-port 8234 --callback-url https://muster.example.com   (MUSTER_CALLBACK_SECRET is set)',
      'muster worker --versioning --set-current',
    ],
    NOTES,
  )
    .option('--metrics-port <port>', 'serve Prometheus metrics at /metrics, and /healthz', portOption)
    .option('--metrics-host <host>', 'address of both metrics ports; 0.0.0.0 in a container', '127.0.0.1')
    .option('--node-name <name>', 'name of this worker, the same after a restart; one process per name')
    .option('--callback-port <port>', 'listen for callbacks of downstreams: completion by HTTP; 0: a free port')
    .option('--callback-host <host>', 'address of the callback port (default: 127.0.0.1); 0.0.0.0 in a container')
    .option('--callback-url <url>', 'under which downstreams reach it (default: its own address)')
    .option('--sdk-metrics-port <port>', "serve the Temporal SDK's own metrics at /metrics", portOption)
    .option('--max-connections <n>', 'database connections, and one more for heartbeats (default: 20)')
    .option('--max-cached-workflows <n>', 'workflow runs kept in memory; others are replayed (default: 500)')
    .option('--shutdown-grace <duration>', 'how long running calls may take at a stop', durationOption, 20_000)
    .option(
      '--start-timeout <duration>',
      'how long to wait for Postgres and Temporal at the start',
      durationOption,
      60_000,
    )
    .option('--log-level <level>', 'fatal, error, warn, info, debug, trace or silent')
    .option(
      '--versioning',
      'leaders stay on the version they began with (Worker Deployment Versioning); deployment name = prefix',
    )
    .option(
      '--build-id <id>',
      'with --versioning: name of this version (default: package version and a hash of the workflows)',
    )
    .option('--set-current', 'with --versioning: new runs go to this version from now on')
    .action(runs(worker));

async function worker(session: Session<Options>): Promise<void> {
  const { shutdownGrace, startTimeout, versioning, buildId, setCurrent } = session.options;
  const { metricsPort, metricsHost, sdkMetricsPort } = session.options;
  const settings = await session.settings({ handlers: true, database: true, callback: true });
  const [{ runWorker }, { createLogger }] = await Promise.all([
    import('../../../workers/main.js'),
    import('../../../workers/logging.js'),
  ]);
  await runWorker(settings, {
    log: createLogger(settings.logLevel),
    shutdownGraceMs: shutdownGrace,
    startTimeoutMs: startTimeout,
    ...(versioning === true ? { versioning: { deploymentName: settings.prefix, buildId: buildId ?? null } } : {}),
    setCurrent: setCurrent === true,
    ...(sdkMetricsPort === undefined ? {} : { sdkMetricsAddress: `${metricsHost}:${sdkMetricsPort}` }),
    ...(metricsPort === undefined ? {} : { metrics: { port: metricsPort, host: metricsHost } }),
    onReady: ({ node, callbackAddress }) => {
      if (session.out.json)
        session.out.answer(
          {
            ready: true,
            node: node.id,
            handlers: settings.handlers.map(({ name }) => name),
            ...(callbackAddress === null ? {} : { callbacks: callbackAddress }),
          },
          () => '',
        );
    },
  });
}
