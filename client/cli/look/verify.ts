import type { Command } from 'commander';
import { Option } from 'commander';
import type { Verification } from '../../views';
import { command, wholeOption } from '../support/command';
import { EXIT } from '../support/exitCodes';
import { table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const verifyCommand = (): Command =>
  command(
    'verify',
    'Check every invariant of the store: nothing lost, nothing twice, all counts add up.',
    ['muster verify', 'muster verify --full', 'muster verify --json | jq ".checks[] | select(.violations != [])"'],
    'Exit code 1 and the rows if one is violated. Safe to run at any time: of a large table a part is looked at, another one each time.',
  )
    .option('--full', 'look at everything: up to a minute per million tasks')
    .addOption(
      new Option('--rows <n>', 'look at about so many rows of each table')
        .argParser(wholeOption(100, 1_000_000))
        .conflicts('full'),
    )
    .action(runs(verify));

async function verify(session: Session<{ full?: boolean; rows?: number }>): Promise<number> {
  const client = await session.client();
  const answer = await client.verify(session.options);
  session.out.answer(answer, () => show(answer));
  return answer.ok ? EXIT.ok : EXIT.failed;
}

const show = ({ ok, full, checks }: Verification): string => {
  const rows = checks.map(({ name, violations, looked }) => [
    name,
    violations.length > 0
      ? `VIOLATED (${violations.length})`
      : looked !== null && looked.rows === 0
        ? 'not looked at'
        : 'ok',
    looked === null ? 'all' : share(looked),
  ]);
  const bad = checks.flatMap(({ name, violations }) => violations.map((row) => `${name}: ${JSON.stringify(row)}`));
  return [
    table(['invariant', '', 'looked at'], rows),
    ...bad,
    ok
      ? `All invariants hold${full ? '' : ' in the part of the store that was looked at'}.`
      : 'Some invariants are violated; the rows are above.',
    ...(full
      ? []
      : ['Of tables with more rows a part was looked at, another one each time; --full looks at everything.']),
  ].join('\n');
};

const share = ({ table: of, rows, of: total }: { table: string; rows: number; of: number }): string => {
  const percent = (100 * rows) / Math.max(1, total);
  return `${count(rows)} of about ${count(total)} rows of ${of} (${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %)`;
};

const count = (n: number): string => n.toLocaleString('en-US');
