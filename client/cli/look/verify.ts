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
    'Check every invariant of the store: no task lost or doubled, all counts add up.',
    ['muster verify', 'muster verify --full', 'muster verify --json | jq ".checks[] | select(.violations != [])"'],
    'If an invariant is violated, prints the rows and exits with code 1. Safe to run at any time: each run checks another part of a large table.',
  )
    .option('--full', 'check every row: up to a minute per million tasks')
    .addOption(
      new Option('--rows <n>', 'check about this many rows per table')
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
        ? 'not checked'
        : 'ok',
    looked === null ? 'all' : share(looked),
  ]);
  const bad = checks.flatMap(({ name, violations }) => violations.map((row) => `${name}: ${JSON.stringify(row)}`));
  return [
    table(['invariant', '', 'checked'], rows),
    ...bad,
    ok
      ? `All invariants hold${full ? '' : ' in the part of the store that was checked'}.`
      : 'Some invariants are violated; see the rows above.',
    ...(full ? [] : ['Each run checks another part of a larger table; --full checks every row.']),
  ].join('\n');
};

const share = ({ table: of, rows, of: total }: { table: string; rows: number; of: number }): string => {
  const percent = (100 * rows) / Math.max(1, total);
  return `${count(rows)} of about ${count(total)} rows of ${of} (${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %)`;
};

const count = (n: number): string => n.toLocaleString('en-US');
