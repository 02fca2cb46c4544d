import type { Command } from 'commander';
import { apiCommand } from './run/api';
import { auditCommand } from './look/audit';
import { batchesCommand } from './look/batches';
import { batchCommand } from './look/batch';
import { bulkCommand } from './bulk/bulk';
import { callbacksCommand } from './look/callbacks';
import { cancelCommand } from './tasks/cancel';
import { certifyCommand } from './tasks/certify';
import { completeCommand } from './steer/complete';
import { devCommand } from './run/dev';
import { doctorCommand } from './look/doctor';
import { errorsCommand } from './look/errors';
import { executeCommand } from './executions/execute';
import { executionCommand } from './executions/execution';
import { explainCommand } from './tasks/explain';
import { fanoutCommand } from './fanouts/fanout';
import { flushCommand } from './steer/flush';
import { initCommand } from './run/init';
import { laneCommand } from './lanes/lane';
import { lanesCommand } from './lanes/lanes';
import { mcpCommand } from './run/mcp';
import { limitsCommand } from './steer/limits';
import { migrateCommand } from './run/migrate';
import { nodeCommand } from './nodes/node';
import { nodesCommand } from './nodes/nodes';
import { partitionCommand } from './nodes/partition';
import { partitionsCommand } from './nodes/partitions';
import { pauseCommand } from './steer/pause';
import { queuerCommand } from './lanes/queuer';
import { redriveCommand } from './steer/redrive';
import { replayCommand } from './look/replay';
import { resolveCommand } from './steer/resolve';
import { resumeCommand } from './steer/resume';
import { setCommand } from './steer/set';
import { sharedLimitsCommand } from './steer/sharedLimits';
import { statusCommand } from './look/status';
import { submitCommand } from './tasks/submit';
import { CommandLine } from './support/commandLine';
import { EXIT_HELP } from './support/exitCodes';
import type { Surroundings } from './support/surroundings';
import { targetsCommand } from './look/targets';
import { tasksCommand } from './look/tasks';
import { taskCommand } from './tasks/task';
import { tenantCommand } from './run/tenant';
import { tokenCommand } from './run/token';
import { topCommand } from './look/top';
import { tryCommand } from './tasks/try';
import { verifyCommand } from './look/verify';
import { versionCommand } from './look/version';
import { workerCommand } from './run/worker';
import { packageVersion } from '../version';

const GROUPS: readonly (readonly [title: string, commands: readonly (() => Command)[]])[] = [
  [
    'Run:',
    [initCommand, devCommand, workerCommand, apiCommand, mcpCommand, tokenCommand, tenantCommand, migrateCommand],
  ],
  ['Tasks:', [submitCommand, tryCommand, certifyCommand, taskCommand, explainCommand, cancelCommand]],
  [
    'Look:',
    [
      statusCommand,
      topCommand,
      targetsCommand,
      tasksCommand,
      batchesCommand,
      batchCommand,
      errorsCommand,
      callbacksCommand,
      verifyCommand,
      doctorCommand,
      replayCommand,
      auditCommand,
      versionCommand,
    ],
  ],
  ['Lanes:', [lanesCommand, laneCommand, queuerCommand]],
  ['Nodes:', [nodesCommand, nodeCommand, partitionsCommand, partitionCommand]],
  ['Executions:', [executeCommand, executionCommand]],
  ['Fan-outs:', [fanoutCommand]],
  [
    'Steer:',
    [
      flushCommand,
      pauseCommand,
      resumeCommand,
      setCommand,
      limitsCommand,
      sharedLimitsCommand,
      redriveCommand,
      resolveCommand,
      bulkCommand,
      completeCommand,
    ],
  ],
];

const HELP = `
Settings come from flags, then the environment, then the config file, then a "muster dev" running in this folder:
  --database-url      MUSTER_DATABASE_URL   databaseUrl          postgres://...
  --temporal-address  TEMPORAL_ADDRESS      temporal.address     default localhost:7233
  --namespace         TEMPORAL_NAMESPACE    temporal.namespace   default "default"
  --schema            MUSTER_SCHEMA         schema               default "muster"
  --prefix            MUSTER_PREFIX         prefix               default "muster"
  --max-connections   MUSTER_MAX_CONNECTIONS maxConnections      of muster worker (default 20) and muster api (default 10)
  --max-cached-workflows MUSTER_MAX_CACHED_WORKFLOWS maxCachedWorkflows   of muster worker (default 500)
  --config            MUSTER_CONFIG                              default muster.config.ts, .js, .mjs, .cjs or .json here
  TLS and API key: TEMPORAL_TLS_*, TEMPORAL_API_KEY and profiles, as for every Temporal tool.

${EXIT_HELP}

Examples:
  $ muster dev
  $ muster submit orders --file orders.ndjson --wait
  $ muster status
  $ muster explain order-17`;

/** Builds the command line with all of its commands. */
export const createProgram = (surroundings: Surroundings): CommandLine => {
  const program = new CommandLine(surroundings)
    .description('Collects single tasks into the batches that downstream APIs want, and accounts for every one.')
    .option('--json', 'print only JSON (or JSON Lines) to stdout')
    .option('--config <file>', 'config file with the handlers')
    .option('--database-url <url>', 'Postgres URL; prefer MUSTER_DATABASE_URL, since flags are visible')
    .option('--schema <name>', "schema of Muster's tables")
    .option('--prefix <name>', 'prefix of workflow ids and task queues')
    .option('--temporal-address <host:port>', 'address of Temporal')
    .option('--namespace <name>', 'Temporal namespace')
    .version(packageVersion(), '--version', 'print the version of Muster')
    .option('--debug', 'show the stack trace of an error')
    .addHelpText('after', HELP)
    .configureHelp({ showGlobalOptions: true, helpWidth: 110 })
    .showSuggestionAfterError()
    .exitOverride();
  for (const [title, commands] of GROUPS) {
    program.commandsGroup(title);
    for (const make of commands) {
      const made = make().copyInheritedSettings(program);
      for (const sub of made.commands) sub.copyInheritedSettings(made);
      program.addCommand(made);
    }
  }
  return program;
};
