import type { Command } from 'commander';
import { command, durationWithDefault, portOption } from '../support/command';
import { expectInstalled } from '../support/optionalPackages';
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

const NOTES = `Logs are JSON lines on stderr. SIGTERM or Ctrl-C drains the worker: it takes no new work, finishes
running calls within --shutdown-grace, and exits with code 0; a second signal exits immediately. At
startup it waits for Postgres, the tables, and Temporal (--start-timeout). With --callback-port (or only
--callback-url, if another worker listens), each call carries a URL to which the downstream posts
{"results": [...]} or {"status": "expired" | "failed"} for a batch that it accepted. This needs
MUSTER_CALLBACK_SECRET (at least 32 characters), the same in every worker.
With --json: prints one line when it is ready: {"ready": true, "node", "handlers", "callbacks"?}.`;

export const workerCommand = (): Command =>
  command(
    'worker',
    "Run a worker: it leads targets and makes the calls of the config's handlers.",
    [
      'muster worker',
      'muster worker --config ./muster.config.ts --metrics-port 9464',
      'muster worker --callback-port 8234 --callback-url https://muster.example.com   (MUSTER_CALLBACK_SECRET is set)',
      'muster worker --versioning --set-current',
    ],
    NOTES,
  )
    .option('--metrics-port <port>', 'serve /metrics (Prometheus) and /healthz on this port', portOption)
    .option('--metrics-host <host>', 'address of both metrics ports; use 0.0.0.0 in a container', '127.0.0.1')
    .option('--node-name <name>', 'stable name of this worker; one process per name')
    .option('--callback-port <port>', 'port for downstream callbacks (completion by HTTP); 0: any free port')
    .option('--callback-host <host>', 'address of the callback port (default: 127.0.0.1)')
    .option('--callback-url <url>', 'URL under which downstreams reach the callback port')
    .option('--sdk-metrics-port <port>', "serve the Temporal SDK's metrics on this port, for any Host", portOption)
    .option('--max-connections <n>', 'database connections, plus one for heartbeats (default: 20)')
    .option('--max-cached-workflows <n>', 'workflow runs kept in memory; others are replayed (default: 500)')
    .addOption(
      durationWithDefault('--shutdown-grace <duration>', 'time for running calls to finish during shutdown', 20_000),
    )
    .addOption(
      durationWithDefault(
        '--start-timeout <duration>',
        'how long to wait for Postgres and Temporal at startup',
        60_000,
      ),
    )
    .option('--log-level <level>', 'fatal, error, warn, info, debug, trace or silent')
    .option('--versioning', 'pin leaders to the version they started on (Worker Deployment Versioning)')
    .option('--build-id <id>', 'with --versioning: name of this version (default: derived)')
    .option('--set-current', 'with --versioning: make this version the current one')
    .action(runs(worker));

async function worker(session: Session<Options>): Promise<void> {
  const { shutdownGrace, startTimeout, versioning, buildId, setCurrent } = session.options;
  const { metricsPort, metricsHost, sdkMetricsPort } = session.options;
  expectInstalled('worker');
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
