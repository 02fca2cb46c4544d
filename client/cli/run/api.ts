import type { Command } from 'commander';
import { command, durationOption } from '../support/command';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  port?: string;
  host?: string;
  shutdownGrace: number;
  startTimeout: number;
}

const NOTES = `Everything that the client library can do, for users of any language. /openapi.json describes it, /docs is a page to look around in.
As long as there is no token (muster token create) it listens on this machine only and requires none. TLS is left to a proxy.
Limits (maxBodyBytes, maxRequests, maxWaiting) stand under "api" in the config file. With --json: one line on stdout when it is up.`;

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
    .option(
      '--port <port>',
      'to listen on; 0: a free one (default: MUSTER_API_PORT, api.port in the config file, 8080)',
    )
    .option('--host <host>', 'to listen on (default: MUSTER_API_HOST, api.host in the config file, 127.0.0.1)')
    .option('--max-connections <n>', 'database connections, and as many again for Idempotency-Keys (default: 10)')
    .option('--shutdown-grace <duration>', 'how long open requests may take at a stop', durationOption, 20_000)
    .option('--start-timeout <duration>', 'how long to wait for Postgres at the start', durationOption, 60_000)
    .option('--log-level <level>', 'fatal, error, warn, info, debug, trace or silent')
    .action(runs(api));

async function api(session: Session<Options>): Promise<void> {
  const { port, host, shutdownGrace, startTimeout } = session.options;
  const settings = await session.settings({ database: true, handlers: true }, { apiPort: port, apiHost: host });
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
