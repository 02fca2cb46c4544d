import { resolve } from 'node:path';
import { LOOPBACK } from './ports';
import type { BinaryOptions } from './programs/tool';

export interface TemporalDevOptions {
  /**
   * SQLite file that keeps the workflows; left out, they live in memory. Its directory is made if
   * need be.
   */
  dbFilename?: string;
  /** Serve the Web UI too. */
  ui?: boolean;
  /**
   * Each port: left out, the usual one or, without one or if it is taken, a free one. All listen on
   * 127.0.0.1 only.
   */
  port?: number;
  uiPort?: number;
  metricsPort?: number;
  usualPorts?: { port?: number; uiPort?: number };
  /** Made at start; default `default`, which always exists. */
  namespace?: string;
  /** Name to type: Text, Keyword, Int, Double, Bool, Datetime or KeywordList. */
  searchAttributes?: Record<string, string>;
  /** Dynamic configuration of the server, over ours. Durations are strings like `10ms`. */
  dynamicConfig?: DynamicConfig;
  /** Where to look for the Temporal CLI. */
  binary?: BinaryOptions;
  /** Gets the server's output (warnings and worse), and what is fetched. */
  log?: (line: string) => void;
}

/** Settings of the server by name. */
type DynamicConfig = Record<string, string | number | boolean | readonly string[]>;

/** The ports of one start. */
export interface Ports {
  port: number;
  /** Where browsers find the Web UI. */
  uiPort: number;
  /** Where the server itself has it, behind `openUiDoor`. */
  innerUiPort: number;
  innerUiHost: string;
  metricsPort: number;
}

/**
 * Above anything one machine can do: the default limits would throttle a load test, and their
 * refusals read like a fault of ours.
 */
const UNLIMITED = 1_000_000;

/**
 * What the dev server needs to behave as Muster assumes. `system.enableActivityEagerExecution` is
 * left as the server has it.
 */
const DYNAMIC_CONFIG: DynamicConfig = {
  // The frontend's HTTP port cannot be switched off. It takes changes that any web page can send,
  // so it serves a name that does not exist, which no request has.
  'frontend.httpAllowedHosts': ['muster.invalid'],
  // Without it a timer under 1 s fires at about 1 s; with it, 15-41 ms late.
  'history.timerProcessorMaxTimeShift': '10ms',
  // How long the server's own tasks (hand an activity to a worker, fire a timer) wait for a
  // workflow that requests keep locked; their own limit of 3 s comes first. With the default of
  // 500 ms, an overloaded server puts them off by seconds, each time longer, and what they carry
  // stands still for minutes while everything else moves.
  'history.cacheNonUserContextLockTimeout': '10s',
  // One partition per task queue: with four, as for a cluster, a task often waits in one while the
  // worker asks another, and priorities hold within each only.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
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

/** The command line. A pure function of the options. */
export function serverArguments(options: TemporalDevOptions, ports: Ports): string[] {
  const { dbFilename, ui, namespace, searchAttributes = {}, dynamicConfig = {} } = options;
  const pairs = (flag: string, entries: [string, string][]) =>
    entries.flatMap(([key, value]) => [flag, `${key}=${value}`]);
  const config = Object.entries({ ...DYNAMIC_CONFIG, ...dynamicConfig });
  return [
    ...['server', 'start-dev', '--ip', LOOPBACK, '--port', `${ports.port}`, '--metrics-port', `${ports.metricsPort}`],
    ...(ui ? ['--ui-port', `${ports.innerUiPort}`, '--ui-ip', ports.innerUiHost] : ['--headless']),
    ...(namespace === undefined ? [] : ['--namespace', namespace]),
    ...['--log-level', 'warn', '--log-format', 'text'],
    ...pairs('--search-attribute', Object.entries(searchAttributes)),
    ...pairs(
      '--dynamic-config-value',
      config.map(([key, value]) => [key, JSON.stringify(value)]),
    ),
    // The file survives a crash of the server (write-ahead log); only a crash of the machine may
    // cost its last moments.
    ...(dbFilename === undefined ? [] : ['--db-filename', resolve(dbFilename)]),
    ...(dbFilename === undefined
      ? []
      : pairs('--sqlite-pragma', [
          ['journal_mode', 'wal'],
          ['synchronous', 'off'],
        ])),
  ];
}
