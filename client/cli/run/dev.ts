import path from 'node:path';
import type { Command } from 'commander';
import type { Settings } from '../../../workers/config/config';
import type { DevServers } from '../../../workers/dev/file';
import { command, durationWithDefault, portOption } from '../support/command';
import { duration, fields } from '../support/output';
import { expectInstalled } from '../support/optionalPackages';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  dataDir: string;
  temporalPort?: number;
  uiPort?: number;
  databasePort?: number;
  shutdownGrace: number;
  reload: boolean;
}

const NOTES = `Needs neither Docker nor an installed server; missing programs are downloaded once. Everything listens
on this machine only. Data is kept in --data-dir: delete the folder to start afresh. Servers named in
the config file or the environment are not used. A save of the config file, or of a module that it
imports, replaces the worker: running calls end first. Code that cannot be loaded replaces nothing.
With --json: prints one line with the addresses when everything is ready.`;

export const devCommand = (): Command =>
  command(
    'dev',
    'Run everything on this machine: Postgres, Temporal with its Web UI, a worker and the HTTP API.',
    [
      'muster dev',
      'muster dev --config examples/demo/muster.config.ts',
      'muster submit orders --file orders.ndjson --wait   (in the same folder, elsewhere)',
    ],
    NOTES,
  )
    .option('--data-dir <folder>', 'folder for the data', '.muster')
    .option('--ui-port <port>', 'port of the Web UI (default: 8233, or a free one)', portOption)
    .option('--temporal-port <port>', 'port of Temporal (default: 7233, or a free one)', portOption)
    .option('--database-port <port>', 'port of Postgres (default: 5433, or a free one)', portOption)
    .option('--callback-port <port>', 'port for downstream callbacks (default: 8234, or a free one)')
    .option('--callback-url <url>', 'URL under which downstreams reach that port')
    .option('--api-port <port>', 'port of the HTTP API (default: 8080, or a free one)')
    .addOption(
      durationWithDefault('--shutdown-grace <duration>', 'time for running calls to finish during shutdown', 20_000),
    )
    .option('--no-reload', 'do not reload the config and its modules on a save')
    .option('--log-level <level>', 'log file level: fatal, error, warn, info, debug, trace or silent')
    .action(runs(dev));

async function dev(session: Session<Options>): Promise<void> {
  const { out, options } = session;
  const begun = performance.now();
  const { cwd } = session.surroundings;
  expectInstalled('dev');
  const readSince = Date.now();
  const settings = await session.settings({ handlers: true });
  if (settings.databaseUrl !== null || settings.ownServers)
    out.note('Note: the settings name a database or a Temporal server. dev ignores them, but other commands use them.');
  const { runDev } = await import('../../../workers/dev/dev.js');
  out.note('Starting Postgres and Temporal ...');
  await runDev(settings, {
    cwd,
    dataDir: path.resolve(cwd, options.dataDir),
    temporalPort: options.temporalPort,
    uiPort: options.uiPort,
    databasePort: options.databasePort,
    shutdownGraceMs: options.shutdownGrace,
    ...(options.reload ? { load: () => session.settings({ handlers: true }) } : {}),
    readSince,
    say: (line) => out.note(line),
    onReady: (servers, logFile, callbacks) => {
      const { databaseUrl, ...shown } = servers;
      const database = new URL(databaseUrl);
      database.password = '';
      out.answer(
        {
          ready: true,
          ...shown,
          database: database.href,
          callbacks,
          handlers: settings.handlers.map(({ name }) => name),
          log: logFile,
        },
        () => describe(settings, { ...servers, callbacks }, logFile, performance.now() - begun, cwd),
      );
    },
  });
  out.note('Stopped; the data is kept.');
}

const describe = (
  settings: Settings,
  { databaseUrl, temporal, api, callbacks }: DevServers & { callbacks: string },
  logFile: string,
  ms: number,
  cwd: string,
): string => {
  const { host, username } = new URL(databaseUrl);
  const [first] = settings.handlers;
  const near = (file: string): string => path.relative(cwd, file) || file;
  const facts = fields([
    ['  handlers', `${settings.handlers.map(({ name }) => name).join(', ')}  (${near(settings.config!)})`],
    ['  dashboard', api],
    ['  Web UI', temporal.uiUrl],
    ['  Temporal', `${temporal.address}, namespace ${temporal.namespace}`],
    ['  Postgres', `${host}, user ${username}; the URL with its password is in .muster/dev.json`],
    ['  HTTP API', `${api}  (${api}/docs to look around; no token is needed until one was made)`],
    ['  callbacks', `${callbacks}  (calls carry a URL there: completion by HTTP)`],
    ['  log', near(logFile)],
  ]);
  return `Muster is up (${duration(ms)})
${facts}

Other muster commands in this folder use it automatically:
  muster submit ${first?.name ?? '<handler>'} --file tasks.ndjson --wait
Ctrl-C stops it; the data is kept in ${near(path.dirname(logFile))}.`;
};
