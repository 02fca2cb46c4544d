import type { Command } from 'commander';
import { MAX_LINGER_MS } from '../../../workflows/planning/grouping/longest';
import { MusterError } from '../../errors';
import type { TargetOverrides } from '../../views';
import { command, wholeOption } from '../support/command';
import { printable } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options extends TargetOverrides {
  reset?: boolean;
}

export const setCommand = (): Command =>
  command(
    'set',
    "Override the handler's linger, quiet period or batch size for one target.",
    ['muster set orders customer-17 --linger-ms 5000 --max-items 20', 'muster set orders customer-17 --reset'],
    "The options given replace all of the target's overrides.",
  )
    .argument('<handler>')
    .argument('<target>')
    .option('--linger-ms <ms>', 'longest wait after the first task', wholeOption(0, MAX_LINGER_MS))
    .option('--quiet-period-ms <ms>', 'close a batch when no task arrived for this long', wholeOption(1, MAX_LINGER_MS))
    .option('--max-items <n>', 'maximum tasks per batch', wholeOption(1, 100_000))
    .option('--min-items <n>', 'minimum tasks for the quiet period to close a batch', wholeOption(1, 100_000))
    .option('--reset', "return to the handler's settings")
    .action(runs(set));

async function set(session: Session<Options>, handler: string, target: string): Promise<void> {
  const { lingerMs, quietPeriodMs, maxItems, minItems, reset } = session.options;
  const given = Object.entries({ lingerMs, quietPeriodMs, maxItems, minItems }).filter(
    ([, value]) => value !== undefined,
  );
  if ((given.length === 0) === (reset !== true))
    throw new MusterError(
      'INVALID_ARGUMENT',
      `expected one of --linger-ms, --quiet-period-ms, --max-items, --min-items, or --reset, got ${reset === true ? 'both' : 'nothing'}`,
    );
  const overrides = reset === true ? null : (Object.fromEntries(given) as TargetOverrides);
  const client = await session.client();
  await client.setTarget(handler, target, overrides);
  session.out.answer({ handler, target, overrides }, () =>
    overrides === null
      ? `target ${printable(target)} of ${handler}: uses the handler's settings`
      : `target ${printable(target)} of ${handler}: ${given.map(([name, value]) => `${name} ${value}`).join(', ')}`,
  );
}
