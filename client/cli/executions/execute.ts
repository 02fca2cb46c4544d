import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { isNumberOfNodes } from '../../../workflows/planning/executions/chunks';
import type { AcceptedExecution } from '../../executions/accepted';
import { argumentLists } from '../support/argumentFile';
import { collected, command, durationOption, wholeOption } from '../support/command';
import { describeExecution, waitForExecution } from '../support/executionText';
import type { Session } from '../support/session';
import { runs } from '../support/session';
import { stage } from '../support/spool';

interface Options {
  function: string;
  method: string;
  argsFile: string;
  nodes?: number;
  maxAttempts?: number;
  attribute?: string[];
  env?: string[];
  concurrency?: number;
  rate?: number;
  itemTimeout?: number;
  topic?: string;
  requestId?: string;
  wait?: boolean;
  timeout?: number;
}

const NOTES = `Each line of the file is one argument list: a JSON array of strings. The command returns once the whole
list is stored; if the input breaks off or has a bad line, nothing runs. --function is one of: a name
under "functions" in the nodes' config file, the content id of a module in their function store
(--method: its file), or http (--method GET: the first argument is a URL).

With --json: {"request_id", "code", "message"}, where code says whether nodes can run it now: 202; 404 (none
has the function); 503 (none answers, it waits). With --wait, the execution as shown by "muster execution <id>".`;

export const executeCommand = (): Command =>
  command(
    'execute',
    'Run a function once per argument list of a file, spread over the nodes.',
    [
      'muster execute --function resize --args-file images.ndjson --wait',
      'muster execute --function bafkrei... --method echo.wasm --args-file urls.ndjson --nodes 4 --max-attempts 3',
    ],
    NOTES,
  )
    .requiredOption('--function <id>', 'function to run')
    .requiredOption('--args-file <file>', 'JSON Lines file, one argument list per line; - for standard input')
    .option('--method <name>', 'method of the function', 'run')
    .option('--nodes <n>', 'nodes to wait for in the roll call (-1, the default: all)', nodesOption)
    .option(
      '--max-attempts <n>',
      "maximum runs per item (default and limit: the operator's, 10)",
      wholeOption(0, 1_000_000),
    )
    .option('--attribute <name=value>', 'use only nodes with this attribute; repeatable', collected)
    .option('--env <name=value>', 'environment variable of the function; repeatable', collected)
    .option('--concurrency <n>', 'items that one node runs at once', wholeOption(1, 1_000))
    .option('--rate <n>', 'maximum runs per second to one host, over all nodes', rateOption)
    .option('--item-timeout <duration>', 'time limit of one run', durationOption)
    .option('--topic <text>', 'ask only nodes that subscribe to it (executions.topics)')
    .option('--request-id <uuid>', 'makes the request safe to repeat: it is accepted once')
    .option('--wait', 'wait for its end; exit code 1 if an item failed permanently')
    .option('--timeout <duration>', 'with --wait: stop waiting after this; the execution continues', durationOption)
    .action(runs(execute));

async function execute(session: Session<Options>): Promise<number | void> {
  const { options, out } = session;
  const client = await session.client();
  const file = await stage(session, options.argsFile);
  let execution: AcceptedExecution;
  try {
    execution = await client.execute(
      { functionId: options.function, method: options.method, config: configOf(options) },
      argumentLists(file, out),
      {
        ...(options.topic === undefined ? {} : { topic: options.topic }),
        ...(options.maxAttempts === undefined ? {} : { maxAttempts: options.maxAttempts }),
        ...(options.requestId === undefined ? {} : { requestId: options.requestId }),
      },
    );
  } finally {
    await file.close();
  }
  const { id, code, message } = execution;
  if (code !== '202') out.note(message);
  if (options.wait === true) return waitForExecution(session, execution, options.timeout);
  const view = await execution.status();
  out.answer({ request_id: id, code, message }, () => describeExecution(view, []));
}

const configOf = ({ nodes, attribute, env, concurrency, rate, itemTimeout }: Options) => ({
  ...(nodes === undefined ? {} : { numberOfNodes: nodes }),
  ...(attribute === undefined ? {} : { attributes: pairs('--attribute', attribute) }),
  ...(env === undefined ? {} : { envVars: pairs('--env', env) }),
  ...(concurrency === undefined ? {} : { concurrency }),
  ...(rate === undefined ? {} : { ratePerHost: rate }),
  ...(itemTimeout === undefined ? {} : { timeoutMs: itemTimeout }),
});

const pairs = (flag: string, given: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new InvalidArgumentError(`${flag}: expected name=value, got ${JSON.stringify(pair)}.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );

function nodesOption(text: string): number {
  const nodes = Number(text);
  if (!/^-?\d+$/.test(text) || !isNumberOfNodes(nodes))
    throw new InvalidArgumentError('Expected a whole number from 1 to 10,000, or -1 for all that answer.');
  return nodes;
}

function rateOption(text: string): number {
  const rate = Number(text);
  if (!(rate > 0 && rate <= 1e6)) throw new InvalidArgumentError('Expected runs per second, above 0.');
  return rate;
}
