import { Command } from 'commander';
import { apiCommand } from './api';
import { batchCommand } from './batch';
import { cancelCommand } from './cancel';
import { completeCommand } from './complete';
import { devCommand } from './dev';
import { executeCommand } from './execute';
import { executionCommand } from './execution';
import { explainCommand } from './explain';
import { fanoutCommand } from './fanout';
import { flushCommand } from './flush';
import { laneCommand } from './lane';
import { lanesCommand } from './lanes';
import { migrateCommand } from './migrate';
import { nodeCommand } from './node';
import { nodesCommand } from './nodes';
import { partitionCommand } from './partition';
import { partitionsCommand } from './partitions';
import { pauseCommand } from './pause';
import { queuerCommand } from './queuer';
import { redriveCommand } from './redrive';
import { resolveCommand } from './resolve';
import { resumeCommand } from './resume';
import { setCommand } from './set';
import { statusCommand } from './status';
import { submitCommand } from './submit';
import { EXIT_HELP } from './support/exitCodes';
import { targetsCommand } from './targets';
import { taskCommand } from './task';
import { tokenCommand } from './token';
import { tryCommand } from './try';
import { verifyCommand } from './verify';
import { versionCommand } from './version';
import { workerCommand } from './worker';

const GROUPS: readonly (readonly [title: string, commands: readonly (() => Command)[]])[] = [
  ['Run:', [devCommand, workerCommand, apiCommand, tokenCommand, migrateCommand]],
  ['Tasks:', [submitCommand, tryCommand, taskCommand, explainCommand, cancelCommand]],
  ['Look:', [statusCommand, targetsCommand, batchCommand, verifyCommand, versionCommand]],
  ['Lanes:', [lanesCommand, laneCommand, queuerCommand]],
  ['Nodes:', [nodesCommand, nodeCommand, partitionsCommand, partitionCommand]],
  ['Executions:', [executeCommand, executionCommand]],
  ['Fan-outs:', [fanoutCommand]],
  ['Steer:', [flushCommand, pauseCommand, resumeCommand, setCommand, redriveCommand, resolveCommand, completeCommand]],
];

const HELP = `
Settings come from flags, then the environment, then the config file, then a "muster dev" that runs in this folder:
  --database-url      MUSTER_DATABASE_URL   databaseUrl          postgres://...
  --temporal-address  TEMPORAL_ADDRESS      temporal.address     default localhost:7233
  --namespace         TEMPORAL_NAMESPACE    temporal.namespace   default "default"
  --schema            MUSTER_SCHEMA         schema               default "muster"
  --prefix            MUSTER_PREFIX         prefix               default "muster"
  --max-connections   MUSTER_MAX_CONNECTIONS maxConnections      of muster worker (default 20) and muster api (default 10)
  --config            MUSTER_CONFIG                              default muster.config.ts, .js, .mjs, .cjs or .json here
  TLS and API key: TEMPORAL_TLS_*, TEMPORAL_API_KEY and profiles, as for every Temporal tool.

${EXIT_HELP}

Examples:
  $ muster dev
  $ muster submit orders --file orders.ndjson --wait
  $ muster status
  $ muster explain order-17`;

/** The whole command line. */
export const createProgram = (): Command => {
  const program = new Command('muster')
    .description('Collects single tasks into the batches that downstream APIs want, and accounts for every one.')
    .option('--json', 'the answer as one JSON document (or JSON lines) on stdout, nothing else there')
    .option('--config <file>', 'config file with the handlers')
    .option('--database-url <url>', 'Postgres (better by MUSTER_DATABASE_URL: others on this machine see flags)')
    .option('--schema <name>', "schema of Muster's tables")
    .option('--prefix <name>', 'of workflow ids and task queues')
    .option('--temporal-address <host:port>', 'Temporal')
    .option('--namespace <name>', 'Temporal namespace')
    .option('--debug', 'show where an error comes from')
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
