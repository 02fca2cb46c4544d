import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, resolve } from 'node:path';
import { Connection } from '@temporalio/client';
import { Guard } from './guard';
import { checkPort, freePorts, LOOPBACK } from './ports';
import { startServer, type Attempt, type ServerHandle } from './server';
import { temporalBinary } from './temporalBinary';
import type { Binary, BinaryOptions } from './tool';

export interface TemporalDevOptions {
  /** SQLite file that keeps the workflows; left out, they live in memory. Its directory is made if need be. */
  dbFilename?: string;
  /** Serve the Web UI too. */
  ui?: boolean;
  /** Each port: left out, a free one is chosen. All listen on 127.0.0.1 only. */
  port?: number;
  uiPort?: number;
  metricsPort?: number;
  /** Made at start; default `default`, which always exists. */
  namespace?: string;
  /** Name to type: Text, Keyword, Int, Double, Bool, Datetime or KeywordList. */
  searchAttributes?: Record<string, string>;
  /** Dynamic configuration of the server, over ours. Durations are strings like `10ms`. */
  dynamicConfig?: Record<string, string | number | boolean>;
  /** Where to look for the Temporal CLI. */
  binary?: BinaryOptions;
  /** Gets the server's output (warnings and worse), and what is fetched. */
  log?: (line: string) => void;
}

export interface TemporalDev extends ServerHandle {
  address: string;
  namespace: string;
  uiUrl?: string;
  metricsUrl: string;
  binary: Binary;
}

/** Above anything one machine can do: the default limits would throttle a load test, and their refusals read like a fault of ours. */
const UNLIMITED = 1_000_000;

/** What the dev server needs to behave as Muster assumes. `system.enableActivityEagerExecution` is left as the server has it. */
const DYNAMIC_CONFIG: Record<string, string | number | boolean> = {
  // Without it a timer under 1 s fires at about 1 s; with it, 15-41 ms late.
  'history.timerProcessorMaxTimeShift': '10ms',
  // No outbound call at start; the SDK sets it as well.
  'frontend.enableServerVersionCheck': false,
  'frontend.rps': UNLIMITED,
  'frontend.namespaceRPS': UNLIMITED,
  'frontend.namespaceRPS.visibility': UNLIMITED,
  'frontend.namespaceCount': UNLIMITED,
  'frontend.persistenceMaxQPS': UNLIMITED,
  'matching.rps': UNLIMITED,
  'matching.persistenceMaxQPS': UNLIMITED,
  'history.rps': UNLIMITED,
  'history.persistenceMaxQPS': UNLIMITED,
};

interface Ports {
  port: number;
  uiPort: number;
  metricsPort: number;
}

/**
 * Starts the real Temporal dev server of the Temporal CLI and waits until its namespace answers. Rejects if the CLI can neither be found
 * nor fetched, or if the server does not answer within 30 s (with the server's last lines).
 */
export async function startTemporalDev(options: TemporalDevOptions = {}): Promise<TemporalDev> {
  const { namespace = 'default', dbFilename, log } = options;
  checkPort('port', options.port);
  checkPort('uiPort', options.uiPort);
  checkPort('metricsPort', options.metricsPort);
  const binary = await temporalBinary({ log, ...options.binary });
  if (dbFilename !== undefined) {
    mkdirSync(dirname(resolve(dbFilename)), { recursive: true });
  }
  const guard = new Guard([], log);
  try {
    const { handle, details: ports } = await startServer(guard, () => attempt(binary, options), {
      what: 'The Temporal dev server',
      passing: /address already in use|database is locked/i,
      remedy:
        'give other ports or leave them out, stop what uses them or the dbFilename, or give the address of a running server',
    });
    return {
      ...handle,
      address: `${LOOPBACK}:${ports.port}`,
      namespace,
      uiUrl: options.ui ? `http://${LOOPBACK}:${ports.uiPort}` : undefined,
      metricsUrl: `http://${LOOPBACK}:${ports.metricsPort}/metrics`,
      binary,
    };
  } catch (error) {
    await guard.stop();
    throw error;
  }
}

async function attempt(binary: Binary, options: TemporalDevOptions): Promise<Attempt<Ports>> {
  const [port = 0, uiPort = 0, metricsPort = 0] = await freePorts(3);
  const ports = {
    port: options.port ?? port,
    uiPort: options.uiPort ?? uiPort,
    metricsPort: options.metricsPort ?? metricsPort,
  };
  return {
    command: {
      file: binary.path,
      args: serverArguments(options, ports),
      // A server in memory has nothing to put in order, and its ordered stop takes a second.
      stopSignal: options.dbFilename === undefined ? 'SIGKILL' : 'SIGTERM',
      graceMs: 5_000,
    },
    ready: () => isReady(ports, options),
    details: ports,
  };
}

/** The command line. A pure function of the options. */
export function serverArguments(options: TemporalDevOptions, ports: Ports): string[] {
  const { dbFilename, ui, namespace, searchAttributes = {}, dynamicConfig = {} } = options;
  const pairs = (flag: string, entries: [string, string][]) =>
    entries.flatMap(([key, value]) => [flag, `${key}=${value}`]);
  const config = Object.entries({ ...DYNAMIC_CONFIG, ...dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', LOOPBACK, '--port', `${ports.port}`, '--metrics-port', `${ports.metricsPort}`],
    ...(ui ? ['--ui-port', `${ports.uiPort}`] : ['--headless']),
    ...(namespace === undefined ? [] : ['--namespace', namespace]),
    ...['--log-level', 'warn', '--log-format', 'text'],
    ...pairs('--search-attribute', Object.entries(searchAttributes)),
    ...pairs(
      '--dynamic-config-value',
      config.map(([key, value]) => [key, JSON.stringify(value)]),
    ),
    // The file survives a crash of the server (write-ahead log); only a crash of the machine may cost its last moments.
    ...(dbFilename === undefined ? [] : ['--db-filename', resolve(dbFilename)]),
    ...(dbFilename === undefined
      ? []
      : pairs('--sqlite-pragma', [
          ['journal_mode', 'wal'],
          ['synchronous', 'off'],
        ])),
  ];
}

async function isReady({ port, uiPort }: Ports, options: TemporalDevOptions): Promise<boolean> {
  // Plain TCP first: a gRPC channel that was refused once waits a second before it tries again.
  if (!(await accepts(port)) || (options.ui && !(await accepts(uiPort)))) {
    return false;
  }
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address: `${LOOPBACK}:${port}`, connectTimeout: '5s' });
    await connection.workflowService.describeNamespace({ namespace: options.namespace ?? 'default' });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, LOOPBACK, () => {
      socket.destroy();
      answer(true);
    });
    socket.once('error', () => answer(false));
  });
}
