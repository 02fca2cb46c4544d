import type { Command } from 'commander';
import { command, durationWithDefault } from '../support/command';
import { expectInstalled } from '../support/optionalPackages';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  port?: string;
  host?: string;
  open?: boolean;
  shutdownGrace: number;
  startTimeout: number;
}

const NOTES = `Offers everything the client library can do, to any language. /openapi.json describes the API; /docs is
a page to explore it. Each request needs a token (muster token create). With --open none is needed
until one was made: for trying out, on this machine only, and closed to web pages of other sites. Use a
proxy for TLS. Limits (maxBodyBytes, maxRequests, perCaller) are under "api" in the config file.
With --json: prints one line when it is ready.`;

export const apiCommand = (): Command =>
  command(
    'api',
    'Run the HTTP API.',
    [
      'muster api',
      'muster api --host 0.0.0.0 --port 8080',
      'MUSTER_API_PORT=8080 muster api --config ./muster.config.ts',
    ],
    NOTES,
  )
    .option('--port <port>', 'port to listen on; 0: any free port (default: 8080)')
    .option('--host <host>', 'address to listen on (default: 127.0.0.1)')
    .option('--open', 'require no token until one was made; only on this machine')
    .option('--max-connections <n>', 'database connections; Idempotency-Keys use as many again (default: 10)')
    .addOption(
      durationWithDefault('--shutdown-grace <duration>', 'time for open requests to finish during shutdown', 20_000),
    )
    .addOption(durationWithDefault('--start-timeout <duration>', 'how long to wait for Postgres at startup', 60_000))
    .option('--log-level <level>', 'fatal, error, warn, info, debug, trace or silent')
    .action(runs(api));

async function api(session: Session<Options>): Promise<void> {
  const { port, host, open, shutdownGrace, startTimeout } = session.options;
  expectInstalled('api');
  const settings = await session.settings(
    { database: true, handlers: true },
    {
      apiPort: port,
      apiHost: host,
      apiOpen: open === true ? 'true' : undefined,
    },
  );
  const [{ runApi }, { createLogger }] = await Promise.all([
    import('../../../workers/api/process.js'),
    import('../../../workers/logging.js'),
  ]);
  await runApi(settings, {
    log: createLogger(settings.logLevel),
    shutdownGraceMs: shutdownGrace,
    startTimeoutMs: startTimeout,
    onReady: ({ url }) => {
      if (session.out.json)
        session.out.answer({ ready: true, url, handlers: settings.handlers.map(({ name }) => name) }, () => '');
    },
  });
}
